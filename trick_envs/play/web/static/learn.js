// The guided first deal: a rule when it first matters, what is possible and why, and what a card would do.

import { $, appear, h, said, sentence, stopped } from "./lib.js";
import { guideOf, rulePage } from "./rules.js";
import { askOfPosition, state, wait } from "./state.js";
import { session } from "./store.js";
import { reasons } from "./table.js";

let learnt = new Set(); // pages of the guide that have been shown

export function learning() {
  return location.hash === "#learn";
}

export function beginLessons() {
  learnt = new Set(JSON.parse(session.getItem(`learnt ${state.about.id}`) || "[]"));
}

/** Shows the rules that matter at a moment for the first time, one by one. */
export async function teach(moment) {
  const { about } = state;
  const guide = await guideOf(about.name);
  const numbers = [...guide.pages.keys()].filter((number) => guide.pages[number].when.includes(moment) && !learnt.has(number));
  const pages = numbers.map((number) => [number, rulePage(guide, number)]);
  if (moment === "start" && pages.length) pages.unshift(["", h("section", { class: "rule" }, h("h3", {}, said("lesson.first", state.about)), h("p", { class: "goal", lang: guide.language }, guide.goal), h("p", {}, said("lesson.how")))]);
  for (const [index, [number, page]] of pages.entries()) {
    await lessonPage(page, index + 1 < pages.length ? said("page.next") : said(moment === "score" ? "lesson.score" : "page.on"), pages.length > 1 ? said("lesson.count", { number: index + 1, all: pages.length }) : "");
    if (state.about !== about) return;
    learnt.add(number);
    session.setItem(`learnt ${about.id}`, JSON.stringify([...learnt])); // for a reload
  }
}

function lessonPage(page, words, count) {
  endLesson();
  return new Promise((resolve) => {
    const dialog = $("lesson");
    for (const title of page.querySelectorAll("h3")) title.setAttribute("aria-level", "2"); // none stands above it here
    dialog.replaceChildren(page, h("p", { class: "split" }, h("span", { class: "soft" }, count), h("button", { type: "button", class: "primary", autofocus: true, onclick: () => dialog.close() }, words)));
    dialog.onclose = () => dialog.open || resolve(); // of one that was closed for this one it is told late
    appear(dialog);
  });
}

export function endLesson() {
  $("lesson").close();
}

/** What is possible in the decision that is shown, and why. */
export async function teachDecision() {
  state.lesson = null;
  state.tried = null;
  const { about, frame: { number } } = state;
  const found = await askOfPosition("/lesson");
  if (!found) return;
  await teach(found.phase);
  if (state.about !== about || state.frame.number !== number) return;
  state.lesson = found;
  showLesson();
}

export function coach(...children) {
  $("coach").replaceChildren(...children.filter(Boolean));
  $("coach").hidden = false;
}

function showLesson() {
  state.tried = null;
  for (const button of $("hand").querySelectorAll(".tried")) button.classList.remove("tried");
  coach(h("p", {}, h("b", {}, stopped(state.frame.prompt)), ` ${state.lesson.possible}`), state.lesson.stands ? h("p", {}, state.lesson.stands) : null);
}

/** What a card would do; whether it was only looked at. The second time it is played. */
export function tryCard(kind, button, play) {
  if (!learning() || !state.lesson || !state.frame.legal.includes(kind) || state.tried === kind) return false;
  const words = state.lesson.cards.find((card) => card.kind === kind)?.words;
  state.tried = kind;
  for (const other of $("hand").querySelectorAll(".tried")) other.classList.remove("tried");
  button.classList.add("tried");
  const card = state.about.cards[kind].words;
  coach(
    h("p", {}, h("b", {}, said("lesson.card", { card: sentence(card) })), words ? `${lower(words)}${said("words.end").trim()}` : said("lesson.unknown")),
    h("p", { class: "row" },
      h("button", { type: "button", class: "primary", onclick: play }, said(`lesson.${state.lesson.phase}`, { card })),
      h("button", { type: "button", onclick: showLesson }, said("lesson.another"))));
  return true;
}

/** With a small letter, unless it begins with the name of a seat. */
function lower(words) {
  return state.frame.names.some((name) => name !== said("words.you") && words.startsWith(name)) ? words : words[0].toLowerCase() + words.slice(1);
}

/** A finished trick: who takes it and why, until the person goes on. */
export async function teachTrick(shown) {
  await teach("trick");
  const over = wait();
  const button = h("button", { type: "button", class: "primary", onclick: state.goOn }, said("page.on"));
  coach(...reasons(shown).map((words) => h("p", {}, ...words)), h("p", { class: "row" }, button));
  button.focus({ preventScroll: true });
  await over;
  $("coach").replaceChildren();
}
