// The rules of a game for people: the paper, and the pages of a guided deal.

import { $, ask, h, said } from "./lib.js";
import { state } from "./state.js";

const guides = new Map(); // by the name of the game: what the server tells of its rules

export async function guideOf(name) {
  if (!guides.has(name)) guides.set(name, await ask(`/api/guides/${name}`));
  return guides.get(name);
}

/** A rule: its title, its picture, what it says. */
export function rulePage(guide, number) {
  const page = guide.pages[number];
  return h("section", { class: "rule", lang: guide.language },
    page.title ? h("h3", {}, page.title) : null,
    h("p", {}, page.text),
    page.words ? h("img", { src: `/guides/${guide.game}/${number}.svg`, alt: page.words, loading: "lazy" }) : null);
}

export async function fillRules() {
  const guide = await guideOf(state.about?.name || $("game").value);
  $("rules-text").lang = guide.language;
  $("rules-text").replaceChildren(
    ...(guide.goal ? [h("p", { class: "goal" }, h("b", {}, said("guide.goal"), " "), guide.goal)] : []),
    h("div", { class: "pages" }, ...guide.pages.map((_, number) => rulePage(guide, number))));
}
