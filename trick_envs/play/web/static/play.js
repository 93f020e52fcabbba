// The page on which a person plays. One POST a move: the reply lists all that happens up to the person's next decision.

import { cardButton, drawHand } from "./cards.js";
import { askHints, hintMark, hintWords, renderValues, switchHints, tellHint } from "./hints.js";
import { $, ask, h, onDrop, said, sentence, signed, speaker, stopped, sure } from "./lib.js";
import { beginLessons, coach, endLesson, learning, teach, teachDecision, teachTrick, tryCard } from "./learn.js";
import { keyAction, SPEEDS } from "./logic.js";
import { bringPolicy, chosen, drawStart, fillForm, forgetPolicy, remembered, showForm } from "./newgame.js";
import { dealOver, lookBack, matchOver, renderScore, showDeal, showEnded, showLink } from "./results.js";
import { fillRules, guideOf } from "./rules.js";
import { hear, sound, toggleSound } from "./sound.js";
import { askHere, gameOf, state, wait } from "./state.js";
import { local, session } from "./store.js";
import { Table } from "./table.js";

const say = speaker($("message"));
const table = new Table($("table"), (text) => (state.goOn ? state.goOn() : say(text)));

// --- start ------------------------------------------------------------------------------------------------------

async function start() {
  state.choices = await ask("/api/choices");
  $("speed").replaceChildren(...Object.keys(SPEEDS).map((name) => new Option(said(`speeds.${name}`), name)));
  $("speed").value = local.getItem("speed") || "normal";
  fillForm();
  await route();
}

/** Shows what the address names. */
async function route() {
  const [, kind, name] = location.pathname.match(/^\/(game|same|watch)\/(.+)$/) ?? [];
  const query = new URLSearchParams(location.search);
  if (kind === "game") return openHere(name);
  if (kind === "watch") {
    const seen = await ask(`/api/watch/${name}`).catch(dead);
    say(said("play.watching"));
    return enter(seen);
  }
  const named = query.get("learn") ?? query.get("game");
  if (named !== null && !gameOf(named)) return dead(new Error(said("play.unknown")));
  try {
    if (kind === "same") {
      await newGame({ same: name });
      return say(said("play.sent"));
    }
    if (query.has("learn")) return await startLearning(named);
    if (named) return await newGame(remembered(gameOf(named)));
    if (query.has("games")) {
      await showStart();
      return await paper("games");
    }
    if (query.get("replay")) return await newGame({ replay: query.get("replay"), step: Number(query.get("step")), seat: Number(query.get("seat")) });
  } catch (error) {
    await showStart();
    throw error;
  }
  return showStart();
}

/** A link that leads to nothing: the start page, and why. */
async function dead(error) {
  history.replaceState(null, "", "/");
  await showStart();
  if (error.status === 404) throw new Error(said("play.no_game"));
  throw error;
}

async function openHere(name) {
  await enter(await ask(`/api/games/${name}`).catch(dead));
  const { about } = state;
  if (about.last_deal && !about.over && session.getItem("deal") === `${about.id} ${about.last_deal.number}`) showDeal();
}

async function showStart() {
  Object.assign(state, { about: null, frame: null });
  endLesson();
  view("start");
  document.title = "trick_envs";
  await drawStart({
    play: (body) => guarded(() => newGame(body)),
    learn: (name) => guarded(() => startLearning(name)),
    openGame: (id) => guarded(() => openGame(id)),
    change: (name) => {
      fillForm(name);
      $("new").showModal();
    },
    bring,
  });
}

/** Takes a policy file as an opponent, and says in which game. */
function bring(file) {
  return guarded(async () => {
    const policy = await bringPolicy(file);
    await showStart();
    say(said("start.brought", { policy }), true);
  });
}

/** Which of the two pages is there: "start" or "game". */
function view(name) {
  $("start").hidden = name !== "start";
  $("table-page").hidden = $("side").hidden = name === "start";
  document.body.classList.toggle("at-start", name === "start");
}

let dealing = false;

/** Deals; Back returns to what was shown before. A second click deals no second game. */
async function newGame(body, hash = "") {
  if (dealing) return;
  dealing = true;
  const patience = setTimeout(() => say(said("play.preparing"), true), 900);
  let reply;
  state.busy = true;
  try {
    reply = await ask("/api/games", body);
    say("");
  } catch (error) {
    if (error.status === 410) {
      [body.opponents].flat().forEach(forgetPolicy);
      if (!$("start").hidden) await showStart(); // which offers it no more
    }
    throw error;
  } finally {
    clearTimeout(patience);
    state.busy = dealing = false;
  }
  $("new").close();
  history[location.pathname.startsWith("/same/") ? "replaceState" : "pushState"](null, "", `/game/${reply.game.id}${hash}`);
  state.takeFocus = true;
  await enter(reply);
}

/** Whether the match at hand may be left: nothing is lost, or the person says so. */
async function mayLeave(question, yes) {
  const { about } = state;
  return !about?.begun || about.over || about.watching || sure(said(question), said(yes));
}

/** Deals the guided deal of a game; a game without one shows its rules. */
async function startLearning(name) {
  const guide = await guideOf(name);
  if (!guide.learn) return paper("rules");
  return newGame(guide.learn, "#learn");
}

async function enter(reply) {
  state.goOn?.();
  const about = reply.game;
  if (about.id !== state.about?.id || !$("start").hidden) scrollTo(0, 0); // where one has come from may have been scrolled
  state.about = about;
  Object.assign(state, { lesson: null, past: null, picked: [] });
  setLooking(false);
  view("game");
  $("summary").close();
  document.body.classList.toggle("learning", learning());
  document.body.classList.toggle("many", about.num_players > 6);
  document.body.classList.toggle("watching", Boolean(about.watching));
  $("log").replaceChildren();
  about.log.slice(0, about.log.length - reply.frames.filter((one) => one.told).length).forEach(tell);
  closePapers();
  endLesson();
  beginLessons();
  $("coach").hidden = !learning() || about.over;
  $("coach").replaceChildren();
  showEnded(about.over);
  if (!about.watching) showForm();
  if (about.notice) say(sentence(about.notice));
  await showFrames(reply.frames, null, about);
}

// --- what happens -------------------------------------------------------------------------------------------------

/** Shows frames one after the other, each long enough to be seen; a click or the space bar goes on. */
async function showFrames(frames, from, game) {
  state.busy = true;
  const { about } = state;
  try {
    for (const [index, next] of frames.entries()) {
      if (state.about !== about) return;
      const scored = next.events.find((one) => one.event === "deal");
      if (scored) Object.assign(about, { deals: [...about.deals, scored.scores], last_deal: { ...scored, totals: next.scores } });
      if (index === frames.length - 1) Object.assign(about, game); // not earlier: it tells how it ends
      show(next, index === 0 ? from : null);
      if (learning() && next.told && !next.pause) coach(h("p", {}, stopped(next.told)));
      if (learning()) await teach("start");
      if (state.about !== about) return;
      if (index === frames.length - 1) break;
      const [play, trick] = learning() ? SPEEDS.slow : SPEEDS[$("speed").value] || SPEEDS.normal;
      if (next.pause && learning()) await teachTrick(next);
      else if (!scored || about.num_deals === 1) await wait(next.pause ? trick : play);
      if (!scored || state.about !== about) continue;
      if (learning()) await teach("score");
      if (about.num_deals > 1) await dealOver(game.over); // of one deal the result is the same table
    }
  } finally {
    state.busy = false;
  }
  if (state.about !== about) return;
  renderHand();
  const { frame } = state;
  if (frames.length > 1 && frame.yours) hear("turn");
  if (frames.length > 1 && about.over && about.winners?.includes(about.seat)) hear("win");
  if (about.over) showResult();
  else if (state.hintsOn) await askHints(renderHand);
  if (learning() && frame.yours && !about.over) await teachDecision();
}

function showResult() {
  $("coach").hidden = true;
  matchOver({
    guarded,
    learning: learning(),
    again: () => newGame(chosen()),
    whole: () => newGame(remembered(gameOf(state.about.name))),
    more: () => { location.href = "/"; },
  });
}

function show(next, from) {
  const { about, frame: before } = state;
  const sameDeal = before?.deal === next.deal;
  const taken = before?.pause && next.number >= before.number ? before.events.find((event) => event.event === "trick") : null;
  state.frame = next;
  state.hints = null;
  renderValues();
  $("note").textContent = "";
  const motion = sameDeal && before.table.bottom === next.table.bottom;
  table.show(about, next, { motion, from, sweep: motion && taken ? taken.taker : null, brief: learning() });
  const scores = next.names.map((name, seat) => `${name} ${next.scores[seat]}`).join(said("words.comma"));
  $("table").setAttribute("aria-label", said("play.table", { prompt: sentence(next.prompt), scores }));
  if (next.told) tell(next.told);
  for (const { event } of next.events) if (event === "card" || event === "trick") hear(event);
  document.title = `${about.title} · trick_envs`;
  $("title").textContent = about.title;
  $("prompt").textContent = next.pause ? "" : sentence(next.prompt); // what has ended, the log tells
  $("look-back").disabled = !$("log").childElementCount;
  renderHand();
  renderScore();
}

function tell(line) {
  const log = $("log");
  log.append(h("p", {}, line));
  while (log.childElementCount > 200) log.firstElementChild.remove();
  log.scrollTop = log.scrollHeight;
}

// --- the hand -----------------------------------------------------------------------------------------------------

function renderHand() {
  if (state.past) return showPast();
  const hand = $("hand");
  const { about, frame, hints } = state;
  const ready = frame.yours && !state.busy && !about.watching;
  const buttons = [...hand.querySelectorAll("button")];
  const focused = buttons.indexOf(document.activeElement);
  drawHand(hand, about, frame, ready, (kind, legality, key) => {
    const hint = hints?.cards.find((card) => card.kind === kind);
    const { words } = about.cards[kind];
    const label = ready ? said(legality === "legal" ? "play.legal" : "play.illegal", { card: words }) + (hint ? hintWords(hint) : "") : words;
    const picks = ready && legality === "legal" && together();
    return cardButton(about, kind, { state: legality, key, label, pressed: picks ? state.picked.includes(kind) : null, extra: hint ? hintMark(hint) : null, onclick: (event) => guarded(() => choose(kind, event.currentTarget)) });
  });
  const fresh = [...hand.querySelectorAll("button")];
  $("take-back").disabled = !ready || !about.begun;
  showPicked(ready);
  const old = focused >= 0 ? buttons[focused].dataset.card : null;
  const legal = fresh.filter((button) => button.classList.contains("legal"));
  const same = fresh.find((button) => button.dataset.card === old && (!ready || legal.includes(button)));
  const near = legal.find((button) => fresh.indexOf(button) >= focused) || legal.at(-1);
  const lost = ready && (state.takeFocus || document.activeElement === document.body);
  const target = focused < 0 ? legal[0] || fresh[0] : same || near || fresh[Math.min(focused, fresh.length - 1)];
  if (!target) return;
  target.tabIndex = 0;
  if (focused >= 0 || lost) target.focus({ preventScroll: true });
  if (ready) state.takeFocus = false;
}

async function choose(kind, button) {
  const { about, frame } = state;
  if (state.goOn) return state.goOn();
  if (state.past) return moveInPast(Infinity);
  if (about.watching) return say(said("play.watching"));
  if (!frame.yours) return;
  if (together() && frame.legal.includes(kind)) return pick(kind);
  if (tryCard(kind, button, () => guarded(() => choose(kind, button)))) return;
  await playCards([kind], button);
}

/** Plays cards that are named one after the other; the reply to the last one goes on. */
async function playCards(kinds, button) {
  const { about, frame } = state;
  if (state.busy) return; // a second click
  say("");
  endLesson();
  state.lesson = null;
  if (learning()) coach();
  const place = button.getBoundingClientRect();
  const from = [place.left + place.width / 2, place.top + place.height / 2];
  state.busy = true;
  $("hand").classList.remove("ready");
  button.classList.add("chosen");
  let reply;
  try {
    for (const [index, kind] of kinds.entries()) {
      if (reply) tell(reply.frames.at(-1).told);
      reply = await askHere("/plays", { number: frame.number + index, card: about.cards[kind].name });
      if (!reply) return;
    }
  } catch (error) {
    state.busy = false;
    renderHand();
    if (error.status === 404) return gone();
    say(error.message);
    if (error.status === 409) {
      await catchUp();
      say(said("play.other_tab"));
    }
    return;
  }
  if (reply.game.notice) say(sentence(reply.game.notice), true);
  channel.postMessage({ id: about.id, stamp: reply.game.stamp });
  await showFrames(reply.frames, from, reply.game);
}

/** Whether the cards that are asked now are chosen at once. */
function together() {
  return state.frame.together > 1 && !learning();
}

/** Chooses a card to be passed, or puts it back. */
function pick(kind) {
  const { picked, frame } = state;
  state.picked = picked.includes(kind) ? picked.filter((one) => one !== kind) : [...picked, kind].slice(-frame.together);
  renderHand();
  if (state.picked.length === frame.together) $("confirm").focus({ preventScroll: true });
}

/** The button that passes the cards which are chosen. */
function showPicked(ready) {
  const { frame, picked, about } = state;
  if (!ready) state.picked = [];
  const button = $("confirm");
  button.hidden = !(ready && together());
  button.disabled = picked.length < frame.together;
  button.textContent = button.disabled ? said("play.choose", { count: frame.together }) : said("play.pass", { cards: picked.map((kind) => about.cards[kind].words).join(said("words.comma")) });
}

/** After a play in another tab: the game as it stands; who watches sees every card. */
async function catchUp() {
  const { about, frame } = state;
  let missed = [];
  let reply;
  try {
    if (about.watching) {
      const deal = await askHere("/deal");
      if (!deal) return;
      missed = deal.frames.filter((one) => one.number > frame.number);
    }
    reply = await askHere();
  } catch (error) {
    if (error.status === 404) return gone();
    throw error;
  }
  if (!reply) return;
  const whole = missed[0]?.number === frame.number + 1 && missed.at(-1).number === reply.frames.at(-1).number;
  if (whole && reply.game.taken_back === about.taken_back) await showFrames([...missed, ...reply.frames], null, reply.game);
  else await enter(reply);
}

/** The server does not know this game any more. */
async function gone() {
  if (await sure(said("play.gone"), said("new.title"), said("play.not_now"))) await newGame(chosen());
}

// Tabs that show the same game follow each other: those of this browser at once, others when they ask.
const channel = new BroadcastChannel("trick_envs");
state.channel = channel;
channel.addEventListener("message", ({ data }) => guarded(async () => {
  if (idle() && data.id === state.about.id && data.stamp !== state.about.stamp) await catchUp();
}));

function idle() {
  return state.about && !state.about.over && !state.busy && !state.goOn && !state.past;
}

async function follow() {
  if (document.hidden || !idle()) return;
  const { stamp } = state.about;
  const now = await askHere("/stamp").catch(() => null); // the server may be away for a while
  if (now && idle() && state.about.stamp === stamp && now.stamp !== stamp) await catchUp();
}

state.following = setInterval(() => guarded(follow), 3000);
document.addEventListener("visibilitychange", () => guarded(follow));
addEventListener("popstate", () => guarded(async () => {
  closePapers();
  for (const question of document.querySelectorAll(".question")) question.close();
  state.goOn?.();
  const asked = location.pathname.match(/^\/game\/(.+)$/);
  if (!asked || asked[1] !== state.about?.id) await route();
}));

/** Back to the person's last decision; the record counts it. */
async function takeBack() {
  const { about, frame } = state;
  if (!frame?.yours || state.busy || !about.begun || about.watching) return;
  state.busy = true; // a second click takes nothing back
  const reply = await askHere("/back", { number: frame.number }).finally(() => { state.busy = false; });
  if (!reply) return;
  channel.postMessage({ id: about.id, stamp: reply.game.stamp });
  await enter(reply);
}

// --- the running deal, step by step -----------------------------------------------------------------------------------

async function lookBackAt() {
  if (state.busy || !state.about || $("look-back").disabled) return;
  const reply = await askHere("/deal");
  if (!reply) return;
  const { frames } = reply;
  const last = frames.findLastIndex((one) => one.pause);
  state.past = { frames, at: last < 0 ? Math.max(frames.length - 2, 0) : last };
  showPast();
}

function showPast() {
  const { about, past: { frames, at } } = state;
  const shown = frames[at];
  table.show(about, shown, { motion: false });
  drawHand($("hand"), about, shown, false, (kind) => cardButton(about, kind, {}));
  $("note").textContent = shown.told ? stopped(shown.told) : said("play.begins");
  for (const id of ["past-trick", "past-back"]) $(id).disabled = at === 0;
  const keeps = at > 0 && !$("past").hidden;
  setLooking(true);
  if (!keeps) $("past-end").focus({ preventScroll: true }); // what had the keyboard is hidden or dimmed now
}

function setLooking(on) {
  document.body.classList.toggle("looking-back", on);
  $("past").hidden = !on;
}

/** To another moment of the deal; past its last one the game goes on. */
function moveInPast(by) {
  const { past } = state;
  past.at = Math.max(past.at + by, 0);
  if (past.at < past.frames.length - 1) return showPast();
  state.past = null;
  setLooking(false);
  $("look-back").focus({ preventScroll: true });
  state.takeFocus = true; // the hand, if it is the person's turn
  $("note").textContent = "";
  table.show(state.about, state.frame, { motion: false });
  renderHand();
  if (state.hints) tellHint();
  else if (state.hintsOn) guarded(() => askHints(renderHand));
}

/** To the end of the trick before, or to the beginning. */
function pastTrick() {
  const { frames, at } = state.past;
  moveInPast(Math.max(frames.slice(0, at).findLastIndex((one) => one.pause), 0) - at);
}

// --- my games --------------------------------------------------------------------------------------------------------

async function fillGames() {
  const { games, kept } = await ask("/api/games");
  const none = !navigator.cookieEnabled ? "saved.no_cookies" : kept ? "saved.none" : "saved.nowhere";
  const rows = games.map((one) => {
    const standing = one.old ? said("saved.other_rules") : one.winners ? said(one.winners.includes(one.seat) ? "saved.won" : "saved.lost") : one.over ? said("saved.ended") : said(one.num_deals ? "saved.deal_of" : "saved.deal", { number: one.deals, all: one.num_deals });
    const others = one.score.filter((_, seat) => seat !== one.seat).map((score) => signed(score)).join(said("words.comma"));
    const button = (text, action, primary) => h("button", { type: "button", class: primary ? "primary" : null, onclick: () => guarded(action), "aria-label": said("saved.label", { action: text, title: one.title, when: when(one.saved) }) }, text);
    return h("li", {},
      h("span", {}, h("b", {}, one.title), ` ${standing}`, h("small", {}, said("saved.scores", { when: when(one.saved), score: signed(one.score[one.seat]), others }) + (one.taken_back ? said("saved.taken_back", { count: one.taken_back }) : ""))),
      h("span", { class: "row" },
        !one.old ? button(said(one.over ? "saved.open" : "start.continue"), () => openGame(one.id), !one.over) : null,
        one.over && !one.old ? button(said("page.review"), () => lookBack(one.id, one.seat), true) : null,
        button(said("saved.delete"), () => deleteGame(one))));
  });
  $("games-list").replaceChildren(rows.length ? h("ol", { class: "games" }, ...rows) : h("p", {}, said(none)));
}

function when(seconds) {
  return new Date(1000 * seconds).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

async function openGame(id) {
  closePapers();
  if (id === state.about?.id) return;
  const reply = await ask(`/api/games/${id}`);
  history.pushState(null, "", `/game/${id}`);
  state.takeFocus = true;
  await enter(reply);
}

async function deleteGame(one) {
  if (!await sure(said("saved.delete_sure", one), said("saved.delete"), said("saved.keep"))) return;
  await ask(`/api/games/${one.id}/delete`, {});
  await fillGames();
  $("games").querySelector("button").focus();
  if (!$("start").hidden) await showStart();
}

// --- hints --------------------------------------------------------------------------------------------------------

async function toggleHints() {
  switchHints(!state.hintsOn);
  $("note").textContent = "";
  state.hints = null;
  renderValues();
  if (state.hintsOn && !state.busy) await askHints(renderHand);
  else renderHand();
}

function toggleFigures() {
  state.figures = !state.figures;
  local.setItem("figures", state.figures ? "yes" : "no");
  if (state.hints) renderHand();
  tellHint();
}

// --- papers, keys and clicks ----------------------------------------------------------------------------------------

const PAPERS = { rules: fillRules, games: fillGames, more: () => $("watch-link").replaceChildren(), new: null };

/** Opens one of the papers. */
async function paper(name) {
  closePapers();
  await PAPERS[name]?.();
  if (document.querySelector("dialog[open]")) return; // opened meanwhile
  $(name).showModal();
  $(name).scrollTop = 0;
}

function closePapers() {
  for (const name of Object.keys(PAPERS)) $(name).close();
}

async function guarded(action) {
  try {
    await action();
  } catch (error) {
    say(error.message);
  }
}

const ACTIONS = {
  "go-on": () => state.goOn(),
  nothing: () => {},
  hints: toggleHints,
  "take-back": takeBack,
  games: () => paper("games"),
  "look-back": lookBackAt,
  "past-trick": pastTrick,
  "past-back": () => moveInPast(-1),
  "past-next": () => moveInPast(1),
  "past-end": () => moveInPast(Infinity),
  new: () => paper("new"),
  rules: () => paper("rules"),
  sound: toggleSound,
  keys: () => paper("more"),
};

const BUTTONS = { hints: "show-hints", "take-back": "take-back", "look-back": "look-back", new: "deal-again" }; // what a key does where its button is shown

function placeOf(target) {
  if (document.querySelector("dialog[open]")) return "dialog";
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return "text";
  return target.closest("#hand") ? "hand" : target.closest(".scroll, #coach") ? "scroll" : "";
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const action = keyAction(event.key, placeOf(event.target), Boolean(state.goOn), Boolean(state.past));
  if (!action || (!state.frame && !["games", "sound"].includes(action)) || $(BUTTONS[action])?.checkVisibility() === false) return;
  if (action === "card") $("hand").querySelector(`[data-key="${event.key}"]`)?.click();
  else if (action === "move") move(event);
  else {
    if (event.key === " " || event.key === "?") event.preventDefault();
    if (!event.repeat) guarded(async () => ACTIONS[action]());
  }
});
document.addEventListener("keyup", (event) => { // a button is pressed when the space bar is let go
  if (event.key === " " && event.target.closest("#hand")) event.preventDefault();
});

function move(event) {
  const buttons = [...$("hand").querySelectorAll("button")];
  const at = buttons.indexOf(document.activeElement);
  const last = buttons.length - 1;
  const to = event.key === "Home" ? 0 : event.key === "End" ? last
    : /Right|Down/.test(event.key) ? Math.min(at + 1, last) : Math.max(at - 1, 0);
  if (!buttons[to]) return;
  event.preventDefault();
  buttons.forEach((button) => { button.tabIndex = -1; });
  buttons[to].tabIndex = 0;
  buttons[to].focus();
}

onDrop(bring, () => !$("start").hidden);
$("stage").addEventListener("click", () => state.goOn?.());
$("figures").ariaPressed = state.figures;
$("figures").addEventListener("click", toggleFigures);
$("show-hints").addEventListener("click", () => guarded(toggleHints));
$("show-result").addEventListener("click", showResult);
$("confirm").addEventListener("click", (event) => {
  $("hand").querySelector("[aria-pressed=true]")?.focus({ preventScroll: true }); // the button goes
  guarded(() => playCards(state.picked, event.currentTarget));
});
for (const id of ["take-back", "look-back", "past-trick", "past-back", "past-next", "past-end"]) $(id).addEventListener("click", () => guarded(async () => ACTIONS[id]()));
for (const button of document.querySelectorAll("[data-paper]")) button.addEventListener("click", () => guarded(() => paper(button.dataset.paper)));
for (const dialog of document.querySelectorAll("dialog.paper")) { // a click beside it closes it
  if (dialog.id !== "lesson") dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}
$("learn").addEventListener("click", () => guarded(async () => (learning() || await mayLeave("play.leave_to_learn", "start.learn")) && startLearning(state.about.name)));
$("speed").addEventListener("change", () => local.setItem("speed", $("speed").value));
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  guarded(async () => await mayLeave("play.leave", "new.title") && newGame(chosen()));
});
$("show-deal").addEventListener("click", showDeal);
$("let-watch").addEventListener("click", () => guarded(async () => {
  const reply = await askHere("/watch", {});
  if (reply) await showLink($("watch-link"), reply.path, said("play.watch_told"), said("play.watch_name"));
}));
$("stop").addEventListener("click", () => guarded(async () => {
  const { about } = state;
  if (!about || about.over || !await sure(said("play.end_sure"), said("play.end"))) return;
  state.goOn?.();
  const reply = await askHere("/end", {});
  if (reply) await enter(reply);
}));
Object.assign(state, { sound, showFrames, renderScore, showResult, newGame, chosen }); // for scripts that drive the page
guarded(start);
