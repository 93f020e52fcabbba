"use strict";
// The guided first deal: a rule when it first matters, what is possible and why, and what a card would do.

let lesson = null; // of the decision that is shown
let tried = null; // the card whose consequences are shown
let learnt = new Set(); // pages of the guide that have been shown

function learning() {
  return location.hash === "#learn";
}

/** Deals the guided deal of a game; a game without one shows its rules. */
async function startLearning(name) {
  const guide = await guideOf(name);
  if (!guide.learn) return paper("rules");
  learnt = new Set();
  localStorage.setItem("learnt", "yes");
  document.body.classList.add("learning");
  $("coach").hidden = false; // the picture is asked for in the size that is left
  await newGame(guide.learn, "#learn");
}

/** Shows the rules that matter at a moment for the first time, one by one. */
async function teach(moment) {
  const guide = await guideOf(about.name);
  const numbers = [...guide.pages.keys()].filter((number) => guide.pages[number].when.includes(moment) && !learnt.has(number));
  numbers.forEach((number) => learnt.add(number));
  const pages = numbers.map((number) => rulePage(guide, number));
  if (moment === "start" && pages.length) pages.unshift(h("section", { class: "rule" }, h("h3", {}, `Your first deal of ${about.title}`), h("p", { class: "goal" }, guide.goal), h("p", {}, "Every step says what is possible. Tap a card to see what it would do.")));
  const mine = about.id;
  for (const [index, page] of pages.entries()) {
    if (about.id !== mine) return;
    await lessonPage(page, index + 1 < pages.length ? "Next" : moment === "score" ? "My score" : "Go on", pages.length > 1 ? `${index + 1} of ${pages.length}` : "");
  }
}

let closeLesson = null;

function lessonPage(page, words, count) {
  closeLesson?.();
  return new Promise((resolve) => {
    const button = h("button", { type: "button", class: "primary", onclick: done }, words);
    function done() {
      $("lesson").hidden = true;
      closeLesson = null;
      resolve();
    }
    closeLesson = done;
    for (const title of page.querySelectorAll("h3")) title.setAttribute("aria-level", "2"); // none stands above it here
    $("lesson").replaceChildren(page, h("p", { class: "split" }, h("span", { class: "soft" }, count), button));
    $("lesson").hidden = false;
    $("lesson").scrollTop = 0;
    button.focus({ preventScroll: true });
  });
}

/** What is possible in the decision that is shown, and why. */
async function teachDecision() {
  lesson = null;
  tried = null;
  const { id } = about;
  const { number } = frame;
  const found = await ask(`/api/games/${id}/lesson?number=${number}`);
  if (about.id !== id || frame.number !== number) return;
  lesson = found;
  showLesson();
  await teach(found.phase);
}

function coach(...children) {
  $("coach").replaceChildren(...children.filter(Boolean));
  $("coach").hidden = false;
}

function showLesson() {
  tried = null;
  for (const button of $("hand").querySelectorAll(".tried")) button.classList.remove("tried");
  coach(h("p", {}, h("b", {}, `${sentence(frame.prompt)}.`), ` ${lesson.possible}`), lesson.stands ? h("p", {}, lesson.stands) : null);
}

/** What a card would do; whether it was only looked at. The second time it is played. */
function tryCard(kind, button) {
  if (!learning() || !lesson || !frame.legal.includes(kind) || tried === kind) return false;
  const words = lesson.cards.find((card) => card.kind === kind)?.words;
  tried = kind;
  for (const other of $("hand").querySelectorAll(".tried")) other.classList.remove("tried");
  button.classList.add("tried");
  const card = about.cards[kind].words;
  coach(
    h("p", {}, h("b", {}, `${card[0].toUpperCase()}${card.slice(1)}: `), words ? `${words[0].toLowerCase()}${words.slice(1)}.` : "what follows, nobody can tell yet."),
    h("p", { class: "row" },
      h("button", { type: "button", class: "primary", onclick: () => choose(kind, button) }, `Play ${card}`),
      h("button", { type: "button", onclick: showLesson }, "Another card")));
  return true;
}

/** A finished trick: who takes it and why, until the person goes on. */
async function teachTrick(shown) {
  await teach("trick");
  const told = shown.events.filter((event) => event.event !== "card");
  await new Promise((resolve) => {
    const done = () => {
      goOn = null;
      resolve();
    };
    const button = h("button", { type: "button", class: "primary", onclick: done }, "Go on");
    coach(...told.map((event) => h("p", {}, h("b", {}, event.text), event.why ? `: ${event.why}.` : ".")), h("p", { class: "row" }, button));
    goOn = done;
    button.focus({ preventScroll: true });
  });
  $("coach").replaceChildren();
}

$("learn").addEventListener("click", () => guarded(async () => {
  const begun = about && !about.over && touched && !learning();
  if (!begun || await sure("Leave this match for a guided deal? Back brings you to it again.", "Learn")) await startLearning($("game").value);
}));
if (!localStorage.getItem("learnt")) $("learn").classList.add("primary");
