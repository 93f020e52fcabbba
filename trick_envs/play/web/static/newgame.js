// The start page, and the form for a new game.

import { avatar, cardImage } from "./cards.js";
import { $, ask, h, messages, said, sentence } from "./lib.js";
import { strengths, strengthOf, toContinue } from "./logic.js";
import { gameOf, state } from "./state.js";
import { local } from "./store.js";

const OTHERS = ["ismcts:100", "ismcts:1000", "pimc:100"]; // specs without a word

/** The start page: every game with its picture and one line, to play, to learn, to go on with. */
export async function drawStart({ play, learn, openGame, change, bring }) {
  const { games } = await ask("/api/games");
  const going = toContinue(games);
  const strength = h("select", { id: "strength", onchange: () => local.setItem("strength", $("strength").value) },
    ...strengths(true).map(([word]) => new Option(inWords(word), word)),
    ...ownPolicies().map((one) => new Option(tableOf(one), one.spec)));
  const file = h("input", { id: "policy", class: "hidden", type: "file", accept: ".onnx", onchange: () => file.files[0] && bring(file.files[0]) });
  strength.value = local.getItem("strength") || "strong";
  if (!strength.value) strength.value = "strong"; // a file that is offered no more
  const button = (name, game, action, style = null) => h("button", { type: "button", class: style, onclick: action, "aria-label": said(name === "start.options" ? "start.choose" : "start.label", { action: said(name), title: game.title }) }, said(name));
  $("start").replaceChildren(
    h("div", { class: "welcome" },
      h("div", {}, h("h2", {}, said("start.title")), h("p", {}, said("start.intro"))),
      h("div", {}, h("label", {}, said("start.opponents"), " ", strength), file, h("label", { class: "button", for: "policy" }, said("start.file")))),
    h("ul", { class: "shelf" }, ...state.choices.games.map((game) => h("li", { class: "panel" },
      h("div", { class: "cover", "aria-hidden": "true" }, ...game.cover.map((kind) => h("span", {}, cardImage({ name: game.name, num_players: game.default_players }, kind)))),
      h("h3", {}, game.title, game.original ? h("span", { lang: "ja" }, game.original) : null),
      h("p", {}, h("span", { lang: game.language }, game.goal), " ", h("small", {}, said("start.players", { count: countsOf(game.players) }))),
      h("p", { class: "row" },
        going[game.name] ? button("start.continue", game, () => openGame(going[game.name].id), "primary") : null,
        button("start.play", game, () => play(remembered(game)), going[game.name] ? null : "primary"),
        game.guided ? button("start.learn", game, () => learn(game.name)) : null,
        button("start.options", game, () => change(game.name), "quiet"))))));
}

/** Policy files that may be chosen: those that the server offers, and those that this browser has sent. */
function ownPolicies() {
  return [...state.choices.policies.map((one) => ({ ...one, name: inWords(one.spec) })), ...sentPolicies()];
}

/** Those that this browser has sent, the last one behind. */
function sentPolicies() {
  return JSON.parse(local.getItem("policies") ?? "[]");
}

function tableOf({ name, game, players }) {
  return said("start.table_of", { name, players, game: gameOf(game)?.title ?? game });
}

/** The strength of a player in a word of the page, or its spec. */
export function inWords(spec) {
  const word = strengthOf(spec);
  return messages.strengths[word] ?? word;
}

/** Sends a policy file to the server, to play against; returns what it plays. */
export async function bringPolicy(file) {
  if (file.size > 1_000_000) throw new Error(said("start.too_large"));
  const one = { ...await ask("/api/policies", file), name: file.name.slice(0, 40) };
  forgetPolicy(one.spec);
  local.setItem("policies", JSON.stringify([...sentPolicies(), one].slice(-5)));
  local.setItem("strength", one.spec);
  return tableOf(one);
}

/** The server does not keep a policy any more, or it is sent anew. */
export function forgetPolicy(spec) {
  local.setItem("policies", JSON.stringify(sentPolicies().filter((one) => one.spec !== spec)));
}

function countsOf(players) {
  const [first, last] = [players[0], players.at(-1)];
  return first === last ? `${first}` : last - first + 1 === players.length ? said("start.several", { first, last }) : players.join(said("words.comma"));
}

/** A game as it was chosen last time, with the strength that is chosen now; a policy of one's own has a table of its own. */
export function remembered(game) {
  const own = ownPolicies().find((one) => one.spec === local.getItem("strength"));
  if (own?.game === game.name) return { game: game.name, num_players: own.players, opponents: own.spec };
  return { game: game.name, opponents: usual(game, game.default_players) };
}

/** The opponents that were chosen last time, or what comes closest to them at this table. */
function usual(game, players) {
  const word = local.getItem("strength") || "strong";
  if (ownPolicies().some((one) => one.spec === word && one.game === game.name && one.players === players)) return word;
  const known = Object.fromEntries(strengths(game.pretrained.includes(players)));
  return known[word] ?? known.strong ?? "ismcts:1000";
}

export function fillForm(name = state.choices.first) {
  $("game").replaceChildren(...state.choices.games.map((game) => new Option(game.title, game.name)));
  $("game").value = name;
  fillPlayers();
}

function chosenGame() {
  return gameOf($("game").value);
}

function fillPlayers() {
  const game = chosenGame();
  $("players").replaceChildren(...game.players.map((count) => new Option(count, count)));
  $("players").value = String(game.default_players);
  $("options").replaceChildren(...Object.entries(game.options).map(([name, one]) => h("label", { class: "check" }, h("input", { type: "checkbox", name, checked: one.default }), ` ${one.meaning}`)));
  fillSeats();
}

function fillSeats() {
  const game = chosenGame();
  const count = Number($("players").value);
  $("seat").replaceChildren(...Array.from({ length: count }, (_, seat) => new Option(said("new.place", { name: state.choices.names[seat] }), seat)));
  const spec = usual(game, count);
  fillStrengths($("opponents"), new Option(said("new.each"), "each"));
  $("opponents").value = spec;
  $("each").replaceChildren(...Array.from({ length: count - 1 }, () => h("label", {}, h("span", { class: "who" }), h("select", { onchange: showStrengths }), h("small", {}))));
  for (const select of $("each").querySelectorAll("select")) {
    fillStrengths(select);
    select.value = spec;
  }
  showStrengths();
  const deals = game.deals[count];
  $("length").replaceChildren(...(deals > 1 ? [new Option(game.until ? said("new.until", game) : said("new.deals", { count: deals }), "")] : []), new Option(said("new.deal"), "1"));
}

/** The strengths that a player can have, the weakest first; then specs that have no word. */
function fillStrengths(select, ...more) {
  const players = Number($("players").value);
  const trained = chosenGame().pretrained.includes(players);
  const own = ownPolicies().filter((one) => one.game === chosenGame().name && one.players === players);
  select.replaceChildren(...strengths(trained).map(([, spec]) => new Option(inWords(spec), spec)), ...own.map(({ spec, name }) => new Option(name, spec)), ...more,
    h("optgroup", { label: said("new.other") }, ...OTHERS.map((spec) => new Option(spec))));
}

/** Who sits where, and what their strengths stand for. */
function showStrengths() {
  const seat = Number($("seat").value);
  const labels = [...$("each").querySelectorAll("label")];
  const each = $("opponents").value === "each";
  $("each").hidden = !each;
  $("spec").textContent = each ? "" : $("opponents").value;
  labels.forEach((label, number) => {
    const other = (seat + 1 + number) % (labels.length + 1);
    const side = number === 0 ? said("new.left") : number === labels.length - 1 ? said("new.right") : "";
    label.querySelector(".who").replaceChildren(avatar(other), h("span", {}, h("b", {}, state.choices.names[other]), side));
    label.querySelector("small").textContent = label.querySelector("select").value;
  });
}

/** The form says what is being played. */
export function showForm() {
  const { about } = state;
  $("game").value = about.name;
  fillPlayers();
  $("players").value = String(about.num_players);
  fillSeats();
  $("seat").value = String(about.seat);
  const specs = [...Array(about.num_players - 1).keys()].map((number) => about.players[(about.seat + 1 + number) % about.num_players]);
  const selects = [...$("each").querySelectorAll("select")];
  for (const [select, spec] of [[$("opponents"), specs[0]], ...selects.map((one, number) => [one, specs[number]])]) {
    if (![...select.options].some((one) => one.value === spec)) select.querySelector("optgroup").append(new Option(spec));
    select.value = spec;
  }
  if (specs.some((spec) => spec !== specs[0])) $("opponents").value = "each";
  showStrengths();
  const lengths = [...$("length").options].map((one) => one.value || String(chosenGame().deals[about.num_players]));
  if (!lengths.includes(String(about.num_deals))) $("length").append(new Option(said("new.deals", { count: about.num_deals }), about.num_deals));
  $("length").value = about.num_deals === chosenGame().deals[about.num_players] && about.num_deals > 1 ? "" : String(about.num_deals);
}

/** What the form asks for. */
export function chosen() {
  const seed = $("seed").value.trim();
  const boxes = [...$("options").querySelectorAll("input")];
  return {
    game: $("game").value,
    num_players: Number($("players").value),
    seat: Number($("seat").value),
    opponents: $("opponents").value === "each" ? [...$("each").querySelectorAll("select")].map((select) => select.value) : $("opponents").value,
    ...($("length").value ? { num_deals: Number($("length").value) } : {}),
    ...(boxes.length ? { options: Object.fromEntries(boxes.map((box) => [box.name, box.checked])) } : {}),
    ...(seed ? { seed: Number(seed) } : {}),
  };
}

$("game").addEventListener("change", fillPlayers);
$("players").addEventListener("change", fillSeats);
$("seat").addEventListener("change", showStrengths);
$("opponents").addEventListener("change", () => {
  showStrengths();
  const word = strengthOf($("opponents").value);
  if (strengths(true).some(([known]) => known === word)) local.setItem("strength", word);
});

/** The mark and the name of a seat at this table. */
export function character(seat) {
  return [avatar(seat === state.about.seat ? "you" : seat), sentence(state.frame.names[seat])];
}
