// Scores: beside the table, at the end of a deal and of a match; what can be done with a match that is over.

import { character, inWords } from "./newgame.js";
import { $, appear, ask, h, said, save, sentence, signed, still } from "./lib.js";
import { askHere, state, wait } from "./state.js";
import { session } from "./store.js";
import { pointsTable, tableOf } from "./tables.js";

export function renderScore() {
  const { about, frame } = state;
  const { deals } = about;
  const best = about.over && about.winners ? about.winners : [];
  const rows = frame.names.map((_, seat) => [
    [seat === about.seat && "you", seat === frame.acting && "acts", best.includes(seat) && "won"],
    ...character(seat), ...(seat === about.seat ? [] : [h("small", { title: about.players[seat] }, ` ${inWords(about.players[seat])}`)]),
  ]);
  $("show-deal").hidden = !about.last_deal || (about.over && about.num_deals === 1);
  $("show-deal").textContent = about.last_deal ? said("result.points_of", about.last_deal) : "";
  const holder = $("score");
  for (let first = Math.max(deals.length - 4, 0); first <= deals.length; first += 1) { // as many of the last ones as there is room for
    holder.replaceChildren(pointsTable(said("result.player"), rows, frame.scores, deals.slice(first), first + 1));
    if (holder.scrollWidth <= holder.clientWidth) break;
  }
}

/** Who has how many points; of a deal also what for, and the points of the match. */
function scoreTable(scores, items = [], totals = null) {
  const { about, frame } = state;
  const order = frame.names.map((_, seat) => seat).sort((one, other) => scores[other] - scores[one]);
  const rows = order.map((seat) => h("tr", { class: seat === about.seat ? "you" : null },
    h("th", { scope: "row" }, ...character(seat)),
    items.length ? h("td", {}, items[seat]?.length ? h("ul", { class: "items" }, ...items[seat].map((item) => h("li", {}, h("span", {}, item.words), h("b", {}, signed(item.points))))) : null) : null,
    h("td", { class: "number total" }, signed(scores[seat])),
    totals ? h("td", { class: "number" }, signed(totals[seat])) : null));
  const heads = [[said("result.player")], items.length && [said("result.what_for"), null, null], [said(totals ? "result.deal" : "result.points")], totals && [said("page.match")]];
  return h("div", { class: "scroll" }, tableOf(heads.filter(Boolean), rows, "result"));
}

/** What the points of the last finished deal are for. */
function dealTable() {
  const { about } = state;
  return scoreTable(about.last_deal.scores, about.last_deal.items, about.num_deals > 1 ? about.last_deal.totals : null);
}

/** Opens the dialog of results with some content; what is to happen when it closes is asked anew each time. */
function open(closed, ...children) {
  shut();
  const dialog = $("summary");
  dialog.replaceChildren(...children.filter(Boolean));
  dialog.onclose = closed;
  appear(dialog);
}

/** Opens the table of the last finished deal; a button with these words closes it. `then`: what is to happen next. */
function openDeal(words, then = () => {}) {
  const { about: { last_deal: { number }, length } } = state;
  const closed = () => {
    shut();
    session.removeItem("deal");
    then();
  };
  open(closed, h("h2", {}, said("result.deal_of", { number, length })), dealTable(),
    h("p", { class: "row" }, h("button", { type: "button", class: "primary", autofocus: true, onclick: closed }, words)));
}

/** Closes it, as the person has said. */
function shut() {
  const dialog = $("summary");
  dialog.onclose = null;
  dialog.close();
}

/** Shows the table of the last finished deal again. */
export function showDeal() {
  if (state.about.last_deal && !state.goOn) openDeal(said("page.on"));
}

/** The end of a deal; resolves when the person goes on. */
export function dealOver(last) {
  const { about } = state;
  const over = wait(undefined, () => {
    shut();
    session.removeItem("deal");
  });
  const { goOn } = state;
  session.setItem("deal", `${about.id} ${about.last_deal.number}`); // a reload shows it again
  renderScore();
  setTimeout(() => {
    if (state.goOn === goOn) openDeal(said(last ? "page.result" : "result.next_deal"), goOn);
  }, still.matches ? 0 : 900);
  return over;
}

/** Buttons of a match that is over, or goes on. */
export function showEnded(over) {
  $("stop").disabled = $("show-hints").hidden = over;
  $("show-result").hidden = !over;
}

/** The end of a match: who has won, and what can be done now. It can be opened again as long as the match is shown. */
export function matchOver({ guarded, again, learning, whole, more }) {
  const { about, frame } = state;
  const { winners } = about;
  const won = winners?.includes(about.seat);
  const title = said(winners === null ? "result.ended" : won ? (winners.length > 1 && !about.teams ? "result.you_share" : "result.you_win") : "result.over");
  const note = winners === null ? said("result.all_open") : won ? "" : said(winners.length > 1 ? "result.win" : "result.wins", { names: new Intl.ListFormat(document.documentElement.lang).format(winners.map((seat) => sentence(frame.names[seat]))) });
  showEnded(true);
  $("prompt").textContent = sentence(winners === null ? said("result.ended_told") : frame.prompt);
  const button = (text, action, primary = false) => h("button", { type: "button", class: primary ? "primary" : null, autofocus: primary, onclick: () => guarded(action) }, text);
  open(() => $("show-result").focus(),
    h("h2", {}, title), note && h("p", {}, note),
    about.num_deals === 1 && about.last_deal ? dealTable() : scoreTable(frame.scores),
    ...(about.watching ? [] : sameCards()),
    h("p", { class: "row" },
      learning ? button(said("result.whole"), whole, true) : null,
      ...(about.watching ? [] : [button(said("result.review"), () => lookBack(), !learning), button(said("result.again"), again), button(said("result.another"), more)]),
      h("button", { type: "button", onclick: () => $("summary").close() }, said("result.see_table")),
      about.winners && about.begun && !about.watching ? h("span", { id: "link" }, button(said("result.share"), share)) : null),
    about.watching ? null : h("p", { class: "seed" }, `${said("page.seed", about)} · `, h("button", { type: "button", class: "link", onclick: () => guarded(saveRecord) }, said("result.save"))));
}

/** What others have scored with the same cards. */
function sameCards() {
  const { about, frame } = state;
  if (!about.others?.length) return [];
  const entry = (name, score, you = false) => h("li", { class: you ? "you" : null }, h("span", {}, name), h("b", {}, signed(score)));
  return [h("h3", {}, said("result.same")),
    h("ol", { class: "items", id: "same" }, entry(said("result.you"), frame.scores[about.seat], true),
      ...about.others.map((one, number) => entry(one.first ? said("result.sender") : said("result.by_link", { number: number + 1 }), one.score[about.seat])))];
}

/** Shows an address to be sent, and copies it. */
export async function showLink(holder, path, words, name) {
  const address = new URL(path, location.href).href;
  const field = h("input", { readonly: true, value: address, "aria-label": name });
  holder.replaceChildren(h("label", {}, words, field));
  field.select();
  await navigator.clipboard?.writeText(address).catch(() => {});
}

async function share() {
  const reply = await askHere("/share", {});
  if (reply) await showLink($("link"), reply.path, said("result.share_told"), said("result.share_name"));
}

/** The record as text: its seed may be larger than numbers are here. */
export function record(game = state.about.id) {
  return ask(`/api/games/${game}/record`, undefined, (text) => text);
}

export async function lookBack(game = state.about.id, seat = state.about.seat) {
  const { id } = await ask("/api/replays", await record(game));
  location.href = `/replay/${id}#step=0&seat=${seat}&review=1`;
}

async function saveRecord() {
  save(await record(), `${state.about.name}-${state.about.seed}.json`);
}
