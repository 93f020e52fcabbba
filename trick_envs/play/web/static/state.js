// What the page for play knows. One object: scripts that drive the page look at it as `state`.

import { ask } from "./lib.js";
import { local } from "./store.js";

export const state = {
  choices: null, // what may be chosen
  about: null, // the game: cards, players, scores
  frame: null, // what is shown
  busy: false, // waiting for the server, or showing what it told
  goOn: null, // ends the wait that goes on
  hints: null, // of the position that is shown
  hintsOn: false,
  figures: local.getItem("figures") === "yes",
  takeFocus: false, // the hand is to have the keyboard once it is the person's turn
  lesson: null, // of the decision that is shown, in a guided deal
  tried: null, // the card whose consequences are shown
  picked: [], // cards chosen to be passed together
  past: null, // the running deal, looked back at: {frames, at}
};
globalThis.state = state;

/** What the server answers about the game that is shown; nothing, and no error, if that is left meanwhile. */
export async function askHere(what = "", body = undefined) {
  const { about } = state;
  try {
    const reply = await ask(`/api/${about.watching ? "watch" : "games"}/${about.id}${what}`, body);
    return state.about === about ? reply : null;
  } catch (error) {
    if (state.about !== about) return null;
    throw error;
  }
}

/** What it answers about the position that is shown; nothing, and no error, if that is no longer shown. */
export async function askOfPosition(what) {
  const { about, frame } = state;
  const stands = async () => {
    while (state.busy) await new Promise((resolve) => { setTimeout(resolve, 50); }); // a play may yet fail
    return state.about === about && state.frame === frame;
  };
  try {
    const reply = await askHere(`${what}?number=${frame.number}`);
    return await stands() ? reply : null;
  } catch (error) {
    if (await stands()) throw error;
    return null;
  }
}

/** What may be chosen of the game of this name, if there is one. */
export function gameOf(name) {
  return state.choices.games.find((game) => game.name === name);
}

/** Waits so many ms, or without a time until the person goes on. `ended`: what is to happen at once then. */
export function wait(time, ended = () => {}) {
  return new Promise((resolve) => {
    const timer = time === undefined ? 0 : setTimeout(done, time);
    function done() {
      clearTimeout(timer);
      state.goOn = null;
      ended();
      resolve();
    }
    state.goOn = done;
  });
}
