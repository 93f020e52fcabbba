// Tables of points and of hints, in a game as in its review.

import { chip } from "./cards.js";
import { bar, h, said, signed } from "./lib.js";
import { percent } from "./logic.js";

/** A table. `heads`: of each column words or elements, a title and a class; all but the first are columns of numbers. */
export function tableOf(heads, rows, style = null) {
  return h("table", { class: style },
    h("thead", {}, h("tr", {}, ...heads.map(([words, title, kind = "number"], index) => h("th", { scope: "col", class: index ? kind : null, title }, ...[words].flat())))),
    h("tbody", {}, ...rows));
}

/** The points of every seat, of the match and of some deals. `rows`: by seat its class and what stands in front; `first`: the number of the first deal. */
export function pointsTable(head, rows, scores, deals, first = 1) {
  return tableOf([[head], [said("page.match")], ...deals.map((_, index) => [`${first + index}`])], rows.map(([style, ...name], seat) => h("tr", { class: style, "aria-current": style?.includes("acts") && "true" },
    h("th", { scope: "row" }, ...name),
    h("td", { class: "number total" }, signed(scores[seat])),
    ...deals.map((points) => h("td", { class: "number" }, signed(points[seat]))))));
}

/** What policy and search think of every legal card. `played`: the one that was named; `judged`: whether the search compares with that one. */
export function hintTable(about, hint, { played = null, judged = false } = {}) {
  const trained = hint.sources.length > 1;
  const cards = [...hint.cards].sort((one, other) => (other.probability ?? 0) - (one.probability ?? 0) || (other.advantage ?? -99) - (one.advantage ?? -99));
  const heads = [[said("page.card")], ...(trained ? [[said("page.trained")]] : []), [said(judged ? "replay.over_played" : "page.ahead")]];
  return tableOf(heads, cards.map((card) => {
    const better = hint.disagree && card.kind === hint.search;
    return h("tr", { class: [card.kind === played && "played", better && "better"] },
      h("th", { scope: "row" }, chip(about, card.kind), card.kind === played ? h("small", {}, said("replay.played")) : null),
      trained ? h("td", { class: "number" }, bar(card.probability), percent(card.probability)) : null,
      h("td", { class: "number" }, card.advantage === null ? "–" : signed(card.advantage, 1), card.error ? h("small", {}, ` ±${card.error.toFixed(1)}`) : null));
  }), "mind");
}
