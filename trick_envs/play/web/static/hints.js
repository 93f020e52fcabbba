// Hints: in words, or with figures on the cards and in a table.

import { $, bar, h, said, sentence, signed, stopped } from "./lib.js";
import { percent } from "./logic.js";
import { askOfPosition, state } from "./state.js";
import { hintTable } from "./tables.js";

export function switchHints(on) {
  state.hintsOn = on;
  $("show-hints").ariaPressed = on;
  $("figures").hidden = !on;
}

/** Asks for the hint of the position that is shown. `shown`: is called when it is there. */
export async function askHints(shown) {
  if (!state.frame.yours || state.about.over) return;
  $("note").textContent = said("hint.thinking");
  try {
    const found = await askOfPosition("/hint");
    if (!found || !state.hintsOn) return;
    state.hints = found;
  } catch (error) {
    switchHints(false); // the next press asks again
    $("note").textContent = "";
    throw error;
  }
  shown();
  tellHint();
}

/** The hint in words, which the server has; figures are there when they are asked for. */
export function tellHint() {
  const { hints, figures } = state;
  $("figures").ariaPressed = figures;
  renderValues();
  if (!hints) return;
  $("note").replaceChildren(h("b", {}, sentence(figures ? hints.headline : hints.plain)), said("words.end"),
    ...[figures ? hints.expectation : hints.outlook].filter(Boolean).map(stopped));
}

/** What policy and search think of every legal card, as a table. */
export function renderValues() {
  const { hints, about } = state;
  $("values").hidden = !(state.figures && hints);
  if ($("values").hidden) return;
  $("values-table").replaceChildren(hintTable(about, hints));
  $("values-from").textContent = said("hint.source", { sources: hints.sources.join(said("words.comma")) });
}

/** What is told of a card besides its name. */
export function hintWords(hint) {
  if (state.figures) return `${said("words.comma")}${hint.words}`;
  return hint.kind === state.hints.search ? said("hint.advised") : hint.kind === state.hints.baseline ? said("hint.trained") : "";
}

/** A star on the card that is advised, or with figures a bar and a number for the policy, a number for the search. */
export function hintMark(hint) {
  const { hints } = state;
  if (!state.figures) {
    const star = hint.kind === hints.search ? "★" : hint.kind === hints.baseline ? "☆" : "";
    return star ? h("span", { class: ["hint", "star", star === "★" && "best"], "aria-hidden": "true" }, star) : null;
  }
  const disagrees = hints.disagree && hint.kind === hints.search;
  return h(
    "span",
    { class: ["hint", hint.kind === hints.baseline && "policy", disagrees && "better"], "aria-hidden": "true" },
    hint.probability === null ? null : bar(hint.probability),
    hint.probability === null ? null : h("b", { "data-text": percent(hint.probability).replace(" ", "") }),
    h("span", { class: "search" },
      h("span", { "data-text": hint.advantage === null ? "–" : signed(hint.advantage, 1) }),
      hint.error ? h("small", { "data-text": `±${hint.error.toFixed(1)}` }) : null),
  );
}
