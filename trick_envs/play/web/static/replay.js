// The viewer. Its frames come from the server, or, in a page made by trick replay --html, from the page itself.

import { cardButton, chip, drawHand } from "./cards.js";
import { $, ask, h, onDrop, pictures, said, save, sentence, signed, stopped } from "./lib.js";
import { Table } from "./table.js";
import { hintTable, pointsTable, tableOf } from "./tables.js";

let source = null; // where steps and hints come from
let about = null; // the game, and the timeline
let at = 0; // the step
let seen = "all"; // by whom
let deal = 0; // the deal whose tricks are listed
let hints = {}; // by step
let review = null; // every play, judged
let playing = 0; // the timer that steps on
let order = []; // every play of the timeline, by step
const table = new Table($("table"), (text) => { $("message").textContent = text; });
let retry = null; // the mistakes that are tried again: {list, at}
const done = new Set(); // steps of mistakes for which a better card was found

// --- sources ----------------------------------------------------------------------------------------------------

function fromServer(id) {
  return {
    about: () => ask(`/api/replays/${id}`, undefined, (text) => ({ ...JSON.parse(text), text })),
    step: (step, seat) => ask(`/api/replays/${id}/steps/${step}?seat=${seat}`),
    hint: (step) => ask(`/api/replays/${id}/hints/${step}`),
    review: (seat) => ask(`/api/replays/${id}/review`, seat === undefined ? undefined : { seat }),
    belief: (step, seat) => ask(`/api/replays/${id}/beliefs/${step}?seat=${seat}`),
    retry: (step, card) => ask(`/api/replays/${id}/retries/${step}`, { card }),
    playOn: (step, seat) => { location.href = `/?replay=${id}&step=${step}&seat=${seat}`; },
  };
}

/** The data in the page itself: gzipped JSON, in base64. */
async function fromPage(element) {
  const bytes = Uint8Array.from(atob(element.textContent.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const data = JSON.parse(await new Response(stream).text());
  Object.assign(pictures, data.pictures);
  return {
    about: async () => data.about,
    step: async (step, seat) => data.frames[seat][step],
    hint: async () => null,
    review: async () => (data.review ? { state: "done", review: data.review } : { state: "none" }),
  };
}

// --- start --------------------------------------------------------------------------------------------------------

async function start() {
  const here = $("data");
  const asked = location.pathname.match(/^\/replay\/(.+)$/);
  if (here) source = await fromPage(here);
  else if (asked) source = fromServer(asked[1]);
  else return;
  try {
    about = await source.about();
  } catch (error) {
    source = null;
    throw error;
  }
  document.title = said("replay.head", about);
  if ($("drop")) $("drop").hidden = true;
  $("viewer").hidden = false;
  document.querySelector("aside").hidden = false;
  document.body.classList.add("loaded");
  order = about.deals.flatMap((one, number) => one.tricks.flatMap((trick) => trick.plays.map(([step, seat, card, phase]) => ({ step, seat, card, phase, deal: number, trick }))));
  order.sort((one, other) => one.step - other.step);
  review = null;
  done.clear();
  $("view").replaceChildren(new Option(said("replay.everybody"), "all"), ...about.names.map((name, seat) => new Option(sentence(name), seat)));
  $("deals").replaceChildren(...about.deals.map((_, number) => h("button", { type: "button", "aria-pressed": "false", onclick: () => toDeal(number) }, `${number + 1}`)));
  $("deals").hidden = about.deals.length < 2;
  $("play-on").hidden = !source.playOn;
  [hints, deal] = [{}, 0];
  $("result").replaceChildren(h("h2", {}, said(about.over ? "page.result" : "replay.so_far")), resultTable());
  const wanted = new URLSearchParams(location.hash.slice(1)).has("review");
  readAddress();
  const job = await source.review();
  if (job.state === "done") showReview(job.review);
  $("review").hidden = Boolean(here) && job.state === "none"; // a page without a server judges nothing
  await go(at);
  if (wanted && !here) toReview();
  if (job.state !== "done" && !here && (wanted || job.state !== "none")) await analyse();
}

function readAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const step = Number(asked.get("step"));
  at = Number.isInteger(step) ? Math.min(Math.max(step, 0), about.steps - 1) : 0;
  const seat = asked.get("seat");
  seen = seat !== null && /^\d+$/.test(seat) && Number(seat) < about.num_players ? seat : "all";
  $("view").value = seen;
}

function resultTable() {
  const scored = about.deals.map((one) => one.score).filter((score) => score);
  const rows = about.names.map((name, seat) => [[about.winners?.includes(seat) && "won"], sentence(name)]);
  return h("div", { class: "scroll" }, pointsTable(said("result.deal"), rows, about.score, scored), h("p", { class: "seed" }, said("page.seed", about)));
}

// --- a step -------------------------------------------------------------------------------------------------------

let asking = 0;

function go(step, motion = false) {
  return guarded(() => showStep(step, motion));
}

async function showStep(step, motion) {
  at = Math.min(Math.max(step, 0), about.steps - 1);
  const mine = ++asking;
  history.replaceState(null, "", `#step=${at}&seat=${seen}`);
  const frame = await source.step(at, seen);
  if (mine !== asking) return;
  const play = order.find((one) => one.step === at);
  const told = said(seen === "all" ? "replay.table_open" : "replay.table_seen", { name: about.names[seen], prompt: stopped(frame.prompt) });
  document.body.classList.toggle("all-open", seen === "all");
  table.show(about, frame, { motion });
  $("table").setAttribute("aria-label", told);
  showHand(frame, false);
  $("told").textContent = frame.told ? stopped(frame.told) : sentence(frame.prompt);
  const owner = order.findLast((one) => one.step <= at)?.deal ?? 0;
  if (owner !== deal || !$("timeline").childElementCount) {
    deal = owner;
    renderTimeline();
  }
  markTimeline();
  const held = document.activeElement; // a button that is dimmed loses the keyboard, in some browsers at once
  $("to-first").disabled = $("to-back").disabled = $("to-trick").disabled = at === 0;
  $("to-last").disabled = $("to-next").disabled = $("to-next-trick").disabled = at === about.steps - 1;
  $("play-on").disabled = about.over && at === about.steps - 1;
  if (held.disabled) $("to-play").focus();
  drawGraph();
  await think(play, mine);
  if ($("infer")?.open) await infer();
}

/** The hand at the bottom of the table; in a retry its cards can be chosen. */
function showHand(frame, asks) {
  const hand = $("hand");
  drawHand(hand, about, frame, asks, (kind, legality, key) => cardButton(about, kind, { state: legality, key, onclick: () => legality === "legal" && guarded(() => tryIt(kind)) }));
  const buttons = [...hand.querySelectorAll("button")];
  buttons.forEach((button) => { button.tabIndex = asks && button.classList.contains("legal") ? 0 : -1; button.disabled = !asks; });
  if (asks) hand.querySelector(".legal")?.focus({ preventScroll: true });
}

function toDeal(number) {
  const tricks = about.deals[number].tricks;
  go(tricks.length ? tricks[0].plays[0][0] : about.steps - 1);
}

/** The first step of every trick. */
function trickStarts() {
  return [...about.deals.flatMap((one) => one.tricks.map((trick) => trick.plays[0][0])), about.steps - 1];
}

// --- what policy and search think -----------------------------------------------------------------------------------

async function think(play, mine) {
  const box = $("thoughts");
  if (!play) {
    $("mind-title").textContent = said("replay.how_good");
    box.replaceChildren(h("p", { class: "soft" }, said(at === about.steps - 1 ? "replay.ends" : "replay.complete")));
    return;
  }
  $("mind-title").textContent = sentence(said("replay.decides", { name: about.names[play.seat], phase: said(`phases.${play.phase}`) }));
  const judged = review?.decisions[order.indexOf(play)];
  if (!judged && !(at in hints)) hints[at] = await source.hint(at).catch(() => null);
  if (mine !== asking) return;
  const hint = judged ? { ...judged, sources: review.sources, headline: judged.note, search: judged.best, disagree: judged.loss > 0 } : hints[at];
  if (!hint) {
    box.replaceChildren(h("p", {}, stopped(does(play.seat, "name", play.card))));
    return;
  }
  const note = judged ? judged.note : [hint.headline, hint.expectation].filter(Boolean).map(stopped).join(" ");
  box.replaceChildren(
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": said("replay.legal") }, hintTable(about, hint, { judged, played: kindOf(play.card) })),
    h("p", { class: "soft" }, said("replay.knew", { note, name: about.names[play.seat] })),
  );
}

function isYou(seat) {
  return about.names[seat] === said("words.you");
}

/** A seat and what it does: "you play 4 yellow", "Ada leads 9 red". */
function does(seat, phase, card) {
  return said(`moves.${isYou(seat) ? "you_" : ""}${phase}`, { name: about.names[seat], card: about.cards[kindOf(card)].words });
}

/** With whom a seat's points are compared. */
function comparedWith() {
  return said(about.teams ? "review.other_team" : "review.others");
}

/** The head of a seat's narrow column: a name for eyes, which is short, and one for ears. */
function seatHead(seat) {
  const name = about.names[seat];
  const short = name.startsWith("player_") ? `${seat}` : isYou(seat) ? name : name[0];
  return [h("span", { "aria-hidden": "true" }, short), h("span", { class: "hidden" }, name)];
}

function kindOf(name) {
  return about.cards.findIndex((card) => card.name === name);
}

// --- the timeline: a row a trick, a column a seat ---------------------------------------------------------------------

function renderTimeline() {
  const seats = [...Array(about.num_players).keys()];
  const heads = [[h("span", { class: "hidden" }, said("replay.row"))], ...seats.map((seat) => [seatHead(seat), about.names[seat], null])];
  const rows = about.deals[deal].tricks.map((trick) => {
    const leader = trick.plays.find(([, , , phase]) => phase === "lead")?.[1];
    const taking = trick.plays.findLast(([, who, , phase]) => who === trick.taker && phase !== "pick")?.[0];
    const number = trick.name === "pass" ? said("replay.pass") : String(trick.name + 1);
    const first = trick.end ?? trick.plays[0][0];
    return h(
      "tr", { class: trick.name === "pass" ? "passing" : null },
      h("th", { scope: "row" }, h("button", { type: "button", class: "jump", "data-end": trick.end, onclick: () => go(first), "aria-label": trick.name === "pass" ? said("replay.passing") : said("replay.trick", { number }) }, number)),
      ...seats.map((seat) => h(
        "td", { class: [seat === trick.taker && "takes", seat === leader && "leads"] },
        ...trick.plays.filter(([, who]) => who === seat).map(([step, who, card, phase]) => h(
          "button",
          {
            type: "button", class: "jump", "data-step": step, onclick: () => go(step),
            "aria-label": does(who, phase, card) + (step === taking ? said("replay.takes") : ""),
          },
          chip(about, kindOf(card)), markOf(step),
        )),
      )),
    );
  });
  const held = $("timeline").contains(document.activeElement);
  $("timeline").replaceChildren(tableOf(heads, rows, "timeline"));
  if (held) $("timeline").focus({ preventScroll: true });
  [...$("deals").children].forEach((button, number) => { button.ariaPressed = number === deal; });
}

function markTimeline() {
  for (const button of $("timeline").querySelectorAll("button")) {
    const here = Number(button.dataset.step ?? button.dataset.end ?? -1) === at;
    button.toggleAttribute("aria-current", here);
    if (here) {
      button.setAttribute("aria-current", "step");
      const box = $("timeline"); // only this one: the rest of the page stays where it is
      const below = button.getBoundingClientRect().bottom - box.getBoundingClientRect().bottom;
      const above = box.getBoundingClientRect().top + 26 - button.getBoundingClientRect().top;
      if (below > 0) box.scrollTop += below + 4;
      else if (above > 0) box.scrollTop -= above + 4;
    }
  }
}

// --- the review -----------------------------------------------------------------------------------------------------

/** The seat whose mistakes are listed: the one that looks on, or the person's. */
function reviewed() {
  return seen === "all" ? Math.max(person(), 0) : Number(seen);
}

/** The person's seat; -1 if nobody has played there. */
function person() {
  return about.record.players?.indexOf("person") ?? -1;
}

/** Asks for the review, and shows how far it is. */
async function analyse() {
  const mine = source;
  let job;
  if (document.activeElement === $("analyse")) $("to-play").focus({ preventScroll: true });
  $("analyse").disabled = true;
  try {
    job = await source.review(reviewed());
    while (job.state === "waiting" || job.state === "running") {
      $("analysed").textContent = job.total ? said("review.judging_of", { done: job.done, all: job.total }) : said("review.judging");
      await new Promise((resolve) => { setTimeout(resolve, 400); });
      job = await source.review();
      if (source !== mine) return;
    }
  } finally {
    $("analyse").disabled = false;
  }
  if (job.state !== "done") throw new Error(said("review.failed"));
  const waits = $("review").getBoundingClientRect().top < innerHeight;
  showReview(job.review);
  await go(at);
  if (waits) toReview();
}

/** Brings the review into sight where the page is long. */
function toReview() {
  $("review").scrollIntoView({ block: "nearest", behavior: "instant" });
}

function showReview(found) {
  review = found;
  $("analysis").hidden = true;
  $("analysed").textContent = "";
  renderReview();
  renderTimeline();
  drawGraph();
}

const SIGNS = { blunder: "??", mistake: "?", inaccuracy: "?!" };

function markName(mark) {
  return sentence(said(`marks.${mark}`));
}

function renderReview() {
  const seat = reviewed();
  const found = review.decisions.map((one, index) => ({ ...one, step: order[index].step })).filter((one) => one.mark && one.seat === seat).sort((one, other) => other.loss - one.loss);
  const heads = [[said("review.seat")], [said("review.lost"), said("review.lost_told")], [said("review.accuracy"), said("review.accuracy_told")], ...Object.entries(SIGNS).map(([mark, sign]) => [sign, said(`marks.all_${mark}`)])];
  const rows = review.seats.map((one, number) => h("tr", { class: number === seat ? "you" : null },
    h("th", { scope: "row" }, sentence(about.names[number])),
    h("td", { class: "number" }, one.points_lost.toFixed(1)), h("td", { class: "number" }, `${Math.round(100 * one.accuracy)} %`),
    ...Object.keys(SIGNS).map((mark) => h("td", { class: "number" }, `${one.marks[mark]}`))));
  const list = found.map((one) => h("li", {},
    h("button", { type: "button", class: "jump-to", onclick: () => jump(one.step) },
      h("b", { class: `mark ${one.mark}`, title: markName(one.mark) }, SIGNS[one.mark]), h("span", {}, h("span", { class: "hidden" }, `${markName(one.mark)}${said("words.comma")}`), sentence(one.told_you))),
    source.retry ? h("button", { type: "button", onclick: () => guarded(() => startRetry(found, found.indexOf(one))), "aria-label": said("retry.of", { told: one.told_you }) }, said("retry.title")) : null));
  const again = review.duplicate;
  const least = Object.entries(review.marks).map(([mark, loss]) => said("review.mark_from", { mark: said(`marks.${mark}`), points: loss.toFixed(1) })).join(said("words.comma"));
  $("judged").replaceChildren(
    h("p", { id: "verdict" }, seat === person() ? "" : h("b", {}, said("review.as", { name: about.names[seat] })), review.verdicts[seat]),
    again ? h("p", { id: "duplicate" }, h("b", {}, said("review.same")), said(again.spec === "pretrained" ? "review.duplicate" : "review.duplicate_by", { spec: again.spec, score: signed(again.score[person()]), own: signed(again.compared[person()]) })) : "",
    list.length && source.retry ? h("p", { class: "row" }, h("button", { type: "button", class: "primary", id: "retry-all", onclick: () => guarded(() => startRetry(found, 0)) }, found.length > 1 ? said("retry.all", { count: found.length }) : said("retry.one"))) : "",
    list.length ? h("ol", { class: "mistakes" }, ...list) : "",
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": said("review.seats") }, tableOf(heads, rows)),
    h("p", { class: "soft" }, said("review.told", { others: comparedWith(), marks: least })),
  );
}

/** Jumps to a step that can be seen. */
async function jump(step) {
  await go(step);
  toTable();
}

/** Brings table and hand into sight where the page is long. */
function toTable() {
  for (const each of ["stage", "hand"]) $(each).scrollIntoView({ block: "nearest", behavior: "instant" });
}

// --- mistakes, tried again ----------------------------------------------------------------------------------------------

/** Shows the position of a mistake as its seat saw it, and lets the person choose another card. */
async function startRetry(list, number) {
  const one = list[number];
  run(false);
  const mine = ++asking;
  const frame = await source.step(one.step, one.seat);
  if (mine !== asking) return;
  retry = { list, at: number }; // not earlier: until then the cards of the mistake before can be chosen
  at = one.step;
  document.body.classList.add("retrying");
  table.show(about, frame, { motion: false });
  showHand(frame, true);
  tellRetry(h("b", {}, said("retry.number", { ...one, number: number + 1, all: list.length })), sentence(does(one.seat, one.phase, about.cards[one.played].name)) + said("words.end"), said("retry.which"));
  toTable();
}

function tellRetry(...told) {
  const { list } = retry;
  const [found, left] = [done.has(list[retry.at].step), (one, number) => number !== retry.at && !done.has(one.step)];
  const next = list.findIndex((one, number) => number > retry.at && left(one, number));
  const rest = next < 0 ? list.findIndex(left) : next;
  $("retry").replaceChildren(
    h("p", { role: "status" }, ...told),
    h("p", { class: "row" },
      rest >= 0 ? h("button", { type: "button", class: found ? "primary" : null, onclick: () => guarded(() => startRetry(list, rest)) }, said("retry.next")) : null,
      source.playOn ? h("button", { type: "button", onclick: () => source.playOn(list[retry.at].step, list[retry.at].seat) }, said("replay.play_on")) : null,
      h("button", { type: "button", class: rest < 0 && found ? "primary" : null, onclick: () => guarded(endRetry) }, said("retry.review")),
      h("span", { class: "progress" }, said("retry.done", { done: list.filter((one) => done.has(one.step)).length, all: list.length }))));
  $("retry").hidden = false;
  $("retry").scrollIntoView({ block: "nearest", behavior: "instant" }); // a longer answer may end below the screen
}

/** Asks how good a card would have been, and says it. */
async function tryIt(kind) {
  if (!retry) return; // its cards are there for a moment after it
  const { list } = retry;
  const one = list[retry.at];
  const asked = retry.at;
  tellRetry(said("retry.comparing"));
  const found = await source.retry(one.step, about.cards[kind].name);
  if (!retry || retry.at !== asked) return;
  if (found.gain > found.error) done.add(one.step);
  for (const button of $("hand").querySelectorAll(".card")) button.classList.toggle("tried", button.dataset.card === about.cards[kind].name);
  tellRetry(h("b", {}, said("retry.answer", { card: sentence(about.cards[kind].words) })), found.told, found.gain > found.error || found.same ? "" : said("retry.other"));
}

async function endRetry() {
  retry = null;
  $("retry").hidden = true;
  document.body.classList.remove("retrying");
  await go(at);
  toReview();
  $("retry-all").focus({ preventScroll: true });
}

/** The mark of a play for the timeline, if it is judged. */
function markOf(step) {
  const mark = review?.decisions[order.findIndex((one) => one.step === step)]?.mark;
  return mark ? h("b", { class: `mark ${mark}`, title: markName(mark) }, SIGNS[mark], h("span", { class: "hidden" }, `${said("words.comma")}${markName(mark)}`)) : null;
}

/** The expected result after every play of each seat; a click jumps there. */
function drawGraph() {
  const holder = $("graph");
  const known = review?.decisions.some((one) => one.total !== null);
  holder.hidden = !known;
  if (!known) return;
  const seat = reviewed();
  const width = 1000;
  const height = 120;
  const finals = about.score.map((_, number) => review.margins.reduce((sum, margin) => sum + margin[number], 0));
  const lines = about.score.map((_, number) => {
    const points = review.decisions.map((one, index) => [index, one.total, one]).filter(([, total, one]) => one.seat === number && total !== null);
    return about.deals.every((one) => one.score) ? [...points, [review.decisions.length, finals[number], null]] : points;
  });
  const values = [0, ...lines.flat().map(([, total]) => total)];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const x = (index) => 8 + (index / review.decisions.length) * (width - 16);
  const y = (total) => height - 8 - ((total - low) / (high - low || 1)) * (height - 16);
  const svg = (tag, attributes, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const path = (points) => points.map(([index, total], number) => `${number ? "L" : "M"}${x(index).toFixed(1)} ${y(total).toFixed(1)}`).join("");
  const here = order.findIndex((one) => one.step >= at);
  const now = here < 0 ? review.decisions.length : here;
  const ends = review.decisions.flatMap((one, index) => (index && one.deal !== review.decisions[index - 1].deal ? [index] : []));
  const dots = lines[seat].filter(([, , one]) => one?.mark).map(([index, total, one]) => svg("path", { d: `M${x(index).toFixed(1)} ${y(total).toFixed(1)}h0`, class: `dot ${one.mark}`, "aria-hidden": "true" }, svg("title", {}, document.createTextNode(one.told))));
  const last = lines[seat].at(-1);
  const whose = isYou(seat) ? said("replay.your_result") : sentence(said("replay.result_of", { name: about.names[seat] }));
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": said("replay.graph", { whose, others: comparedWith(), last: signed(last ? last[1] : 0, 1) }) },
    svg("line", { x1: 0, x2: width, y1: y(0), y2: y(0), class: "zero" }),
    ...ends.map((index) => svg("line", { x1: x(index), x2: x(index), y1: 0, y2: height, class: "deal" })),
    ...lines.map((points, number) => (number === seat ? "" : svg("path", { d: path(points), class: "other" }))),
    svg("path", { d: path(lines[seat]), class: "own" }),
    ...dots,
    svg("line", { x1: x(now), x2: x(now), y1: 0, y2: height, class: "now" }));
  picture.addEventListener("click", (event) => {
    const box = picture.getBoundingClientRect();
    const index = Math.round((((event.clientX - box.left) / box.width) * width - 8) / (width - 16) * review.decisions.length);
    go(index >= order.length ? about.steps - 1 : order[Math.max(index, 0)].step);
  });
  holder.replaceChildren(h("span", { class: "axis" }, said("replay.axis", { whose }), h("b", {}, signed(totalAt(lines[seat], now), 1)), said("replay.range", { low: signed(low, 0), high: signed(high, 0) })), picture);
}

/** The last expected result that is known at a play. */
function totalAt(points, index) {
  return (points.filter(([number]) => number <= index).at(-1) ?? points[0] ?? [0, 0])[1];
}

// --- what a seat could infer ----------------------------------------------------------------------------------------

async function infer() {
  const play = order.find((one) => one.step === at);
  const box = $("belief");
  if (!play) return box.replaceChildren(h("p", { class: "soft" }, said("replay.nobody")));
  const mine = asking;
  const found = await source.belief(at, play.seat);
  if (mine !== asking) return;
  const others = [...Array(about.num_players).keys()].filter((seat) => seat !== found.seat);
  const heads = [[said("page.card")], ...others.map((seat) => [seatHead(seat)])];
  const rows = found.kinds.map((kind, row) => h("tr", {}, h("th", { scope: "row" }, chip(about, kind)), ...others.map((seat) => {
    const share = found.shares[row][seat];
    const cell = h("td", { class: ["number", found.truth[row][seat] && "holds"] }, `${Math.round(100 * share)}`, found.truth[row][seat] ? h("span", { class: "hidden" }, said("replay.holds")) : null);
    cell.style.setProperty("--share", String(Math.min(share, 1)));
    return cell;
  })));
  return box.replaceChildren(
    h("p", { class: "soft" }, said("replay.worlds", { worlds: found.worlds, name: about.names[found.seat] })),
    tableOf(heads, rows, "belief"));
}

// --- files, keys ------------------------------------------------------------------------------------------------------

async function open(file) {
  $("message").textContent = "";
  if (file.size > 1_000_000) throw new Error(said("replay.too_large"));
  const { id } = await ask("/api/replays", await file.text());
  history.pushState(null, "", `/replay/${id}`);
  at = 0;
  $("timeline").replaceChildren();
  await start();
}

async function guarded(action) {
  try {
    $("message").textContent = "";
    await action();
  } catch (error) {
    $("message").textContent = error.status === 404 ? said("replay.gone") : error.message;
  }
}

function run(on) {
  clearInterval(playing);
  playing = on ? setInterval(() => (at < about.steps - 1 ? go(at + 1, true) : run(false)), 900) : 0;
  Object.assign($("to-play"), { ariaPressed: on, ariaLabel: said(on ? "replay.pause" : "replay.play") });
}

const STEPS = {
  "to-first": () => go(0),
  "to-trick": () => go([...trickStarts()].reverse().find((step) => step < at) ?? 0),
  "to-back": () => go(at - 1),
  "to-play": () => run(!playing),
  "to-next": () => go(at + 1, true),
  "to-next-trick": () => go(trickStarts().find((step) => step > at) ?? about.steps - 1),
  "to-last": () => go(about.steps - 1),
};
globalThis.viewer = { go, get at() { return at; }, get review() { return review; }, get order() { return order; }, get source() { return source; }, get about() { return about; } }; // for scripts that drive the page
const KEYS = { Home: "to-first", PageUp: "to-trick", ArrowLeft: "to-back", " ": "to-play", ArrowRight: "to-next", PageDown: "to-next-trick", End: "to-last" };

for (const [id, action] of Object.entries(STEPS)) $(id).addEventListener("click", () => guarded(action));
document.addEventListener("keydown", (event) => {
  if (!source || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
  if (retry) {
    const card = /^[0-9]$/.test(event.key) && $("hand").querySelector(`[data-key="${event.key}"]`);
    if (card) {
      card.focus({ preventScroll: true });
      card.click();
    }
    return;
  }
  if (event.key === " " && event.target.closest("button, a")) return;
  if (event.key in KEYS) {
    event.preventDefault();
    guarded(STEPS[KEYS[event.key]]);
  } else if (/^[0-9a]$/.test(event.key)) {
    const seat = event.key === "a" ? "all" : event.key;
    if (seat !== "all" && Number(seat) >= about.num_players) return;
    $("view").value = seat;
    lookAs();
  }
});

/** Looks on as the seat that is chosen. */
function lookAs() {
  seen = $("view").value;
  if ($("judged").contains(document.activeElement)) $("view").focus({ preventScroll: true });
  if (review) renderReview();
  go(at);
}
$("view").addEventListener("change", lookAs);
$("infer")?.addEventListener("toggle", () => guarded(async () => { if ($("infer").open) await infer(); }));
$("analyse").addEventListener("click", () => guarded(analyse));
$("save").addEventListener("click", () => save(JSON.stringify(about.record), `${about.name}-${about.seed}.json`));
$("play-on").addEventListener("click", () => {
  const play = order.find((one) => one.step >= at);
  source.playOn(at, seen === "all" ? (play ? play.seat : 0) : seen);
});
if ($("file")) {
  $("another").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", () => $("file").files[0] && guarded(() => open($("file").files[0])));
  onDrop((file) => guarded(() => open(file)));
}
addEventListener("hashchange", () => {
  if (!about) return;
  readAddress();
  go(at);
});
guarded(start);
