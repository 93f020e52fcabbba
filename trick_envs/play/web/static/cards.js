// Cards: one component for the hand, the trick and small ones.

import { $, h, image, messages } from "./lib.js";
import { handColumns } from "./logic.js";

/** The face of a card. */
export function cardImage(about, kind) {
  return image(`/cards/${about.name}/${about.num_players}/${kind}.svg`, { draggable: "false" });
}

/** A card as letters in the colour of its suit: 10R as it is written, with its symbol. */
export function chip(about, kind) {
  const { name } = about.cards[kind];
  const letter = name.at(-1);
  return h("span", { class: `chip suit-${letter}` },
    h("span", { "aria-hidden": "true" }, name.slice(0, -1), h("i", {}, about.suits[letter] ?? letter)), h("span", { class: "hidden" }, about.cards[kind].words));
}

/** The mark of a seat. */
export function avatar(seat) {
  return image(`/avatars/${seat}.svg`, { class: "avatar", width: "24", height: "24" });
}

/**
 * A card of a hand as a button.
 *
 * `state`: "legal", "illegal" or "" (not to be played now); `key`: the number that plays it; `pressed`: whether it is
 * chosen, `null` where no cards are chosen; `extra`: what lies on it.
 */
export function cardButton(about, kind, { state = "", key = null, label = "", pressed = null, extra = null, onclick = null }) {
  const { name, words } = about.cards[kind];
  return h("button", {
    type: "button", class: ["card", state], "data-card": name, "aria-label": label || words,
    "aria-pressed": pressed === null ? null : String(pressed), "aria-disabled": state === "legal" ? null : "true", tabindex: "-1", "data-key": key, onclick,
  }, cardImage(about, kind), extra);
}

/** The hand at the bottom of a table: the cards in the hand, and beside them those that lie elsewhere. */
export function drawHand(holder, about, frame, ready, make) {
  let key = 0;
  const groups = [[null, frame.hand], ...Object.entries(frame.places)].filter(([, kinds]) => kinds.length);
  const words = (name) => messages.places[name ?? "hand"] ?? name;
  holder.replaceChildren(...groups.map(([name, kinds]) => h(
    "div", { class: ["cards", name !== null && "beside"], role: "group", "aria-label": words(name) },
    name === null ? null : h("span", { class: "place", "aria-hidden": "true" }, words(name)),
    ...kinds.map((kind) => {
      const legal = ready && frame.legal.includes(kind);
      if (legal) key += 1;
      return make(kind, ready ? (legal ? "legal" : "illegal") : "", legal && key <= 10 ? String(key % 10) : null);
    }))));
  holder.classList.toggle("ready", ready);
  layHand();
}

/** Cards in rows, where the window is small. */
function layHand() {
  const hand = $("hand");
  const low = innerHeight <= 600 && innerWidth > innerHeight; // beside the table
  const least = innerWidth > 700 && !low ? 84 : innerHeight < 700 ? 43.4 : 52; // style.css has the same width 700; 43.4: seven beside each other in 320
  hand.style.setProperty("--columns", String(handColumns(hand.querySelectorAll("button").length, hand.clientWidth || 390, least)));
}
addEventListener("resize", layHand);
