"use strict";
// The page on which a person plays. One POST a move: the reply lists all that happens up to the person's next decision.

const SPEEDS = { slow: [1100, 2400], normal: [550, 1200], fast: [220, 650], instant: [0, 0] }; // after a play, after a trick: ms
const STRENGTHS = { // in words, and as a spec
  beginner: "random",
  casual: "greedy",
  good: "pimc:20",
  strong: "pretrained",
  best: "pretrained+rollout:64",
};
const OTHERS = ["ismcts:100", "ismcts:1000", "pimc:100"]; // specs without a word

let choices = null; // what may be chosen
let about = null; // the game: cards, players, scores
let frame = null; // what is shown
let busy = false; // waiting for the server, or showing what it told
let goOn = null; // ends the wait that goes on
let hints = null; // of the position that is shown
let hintsOn = false;
let shownSize = "";
let touched = false; // the person has played in this match
let takeFocus = false; // the hand is to have the keyboard once it is the person's turn

// --- start ------------------------------------------------------------------------------------------------------

async function start() {
  const asked = location.pathname.match(/^\/game\/(.+)$/);
  choices = await ask("/api/choices");
  fillForm();
  if (asked) {
    try {
      await enter(await ask(`/api/games/${asked[1]}?size=${size()}`));
      if (about.last_deal && !about.over && sessionStorage.getItem("deal") === `${about.id} ${about.last_deal.number}`) showDeal();
      return;
    } catch (error) {
      if (error.status !== 404) throw error;
      await newGame({});
      return say("The server does not have that game any more. Here is a new one.");
    }
  }
  const same = location.pathname.match(/^\/same\/(.+)$/);
  if (same) {
    await newGame({ same: same[1] });
    return say("The same cards as in the game that you were sent. At the end you see both scores.");
  }
  const query = new URLSearchParams(location.search);
  if (query.get("learn") && choices.games.some((game) => game.name === query.get("learn"))) return startLearning(query.get("learn"));
  const body = {};
  if (query.get("replay")) {
    Object.assign(body, { replay: query.get("replay"), step: Number(query.get("step")), seat: Number(query.get("seat")) });
  }
  await newGame(body);
}

function size() {
  return sizeOf($("table"), 1.08, 1.5);
}

/** Deals; Back returns to the game that was played before. */
async function newGame(body, hash = "") {
  const patience = setTimeout(() => say("Preparing the game. The very first time this takes some seconds …", true), 900);
  let reply;
  busy = true;
  try {
    reply = await ask("/api/games", { ...body, size: size() });
    say("");
  } finally {
    clearTimeout(patience);
    busy = false;
  }
  history[frame ? "pushState" : "replaceState"](null, "", `/game/${reply.game.id}${hash}`);
  takeFocus = true;
  await enter(reply);
}

/** A new game, unless the person would rather go on with the one at hand. */
async function newGameIfSure(body) {
  const begun = about && !about.over && touched;
  if (!begun || await sure("Leave this match for a new one? Back brings you to it again.", "New game")) await newGame(body);
}

/** Asks; resolves to whether the person agrees. */
function sure(question, yes) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-label": question, onclose: () => { dialog.remove(); resolve(dialog.returnValue === "yes"); } },
      h("p", {}, question),
      h("p", { class: "row" },
        h("button", { type: "button", onclick: () => dialog.close("no") }, "Go on playing"),
        h("button", { type: "button", class: "primary", onclick: () => dialog.close("yes") }, yes)));
    document.body.append(dialog);
    dialog.showModal();
  });
}

async function enter(reply) {
  goOn?.();
  about = reply.game;
  touched = about.log.some((line) => /^You\b/.test(line));
  document.body.classList.toggle("many", about.num_players > 6);
  $("log").replaceChildren();
  about.log.slice(0, about.log.length - reply.frames.filter((one) => one.told).length).forEach(tell);
  $("summary").hidden = true;
  closePapers();
  closeLesson?.();
  lesson = null;
  $("coach").hidden = !learning() || about.over;
  $("coach").replaceChildren();
  document.body.classList.toggle("learning", learning());
  $("stop").disabled = about.over;
  showForm();
  if (about.notice) say(sentence(about.notice));
  await showFrames(reply.frames, null, reply.game);
}

/** A message over the table; it stays for a while, or until the next play, or until another one. */
function say(text, stays = false) {
  $("message").textContent = text;
  clearTimeout(said);
  if (text && !stays) said = setTimeout(() => say(""), 9000);
}

let said = 0;

// --- what happens -------------------------------------------------------------------------------------------------

/** Shows frames one after the other, each long enough to be seen; a click or the space bar goes on. */
async function showFrames(frames, from, game) {
  busy = true;
  const mine = about.id;
  try {
    for (const [index, next] of frames.entries()) {
      if (about.id !== mine) return;
      if (next.deal_score) about.deals = [...about.deals, next.deal_score];
      if (index === frames.length - 1) Object.assign(about, game); // not earlier: it tells how it ends
      show(next, index === 0 ? from : null);
      if (learning() && next.told && !next.pause) coach(h("p", {}, `${next.told}.`));
      if (learning()) await teach("start");
      if (index === frames.length - 1) break;
      const [play, trick] = learning() ? SPEEDS.slow : SPEEDS[$("speed").value] || SPEEDS.normal;
      if (next.pause === "deal") {
        if (learning()) await teach("score");
        await dealOver(next, game.over);
      } else if (next.pause && learning()) await teachTrick(next);
      else await wait(next.pause ? trick : play);
    }
  } finally {
    busy = false;
  }
  renderHand();
  if (frames.length > 1 && frame.yours) hear("turn");
  if (frames.length > 1 && about.over && about.winners?.includes(about.seat)) hear("win");
  if (about.over) matchOver();
  else if (hintsOn) await askHints();
  if (learning() && frame.yours && !about.over) await teachDecision();
}

function wait(time) {
  return new Promise((resolve) => {
    const timer = setTimeout(done, time);
    function done() {
      clearTimeout(timer);
      goOn = null;
      resolve();
    }
    goOn = done;
  });
}

function show(next, from) {
  const sameDeal = frame && frame.deal === next.deal;
  const swept = frame?.pause && next.number >= frame.number ? frame : null; // a trick lies there that goes to its taker
  frame = next;
  shownSize = size();
  hints = null;
  renderValues();
  $("note").textContent = "";
  const seats = next.names.map((name, seat) => `${name} ${next.scores[seat]}`).join(", ");
  showPicture($("table"), next.svg, `The table. ${sentence(next.prompt)}. Scores: ${seats}.`, from, sameDeal, swept && trickTo(swept));
  showTips(next);
  showBanner(next);
  if (next.told) tell(next.told);
  for (const { event } of next.events) if (event === "card" || event === "trick") hear(event);
  document.title = `${about.title} · trick_envs`;
  $("title").textContent = about.title;
  $("prompt").textContent = sentence(next.prompt);
  $("show-last").disabled = !next.previous.length;
  if (!$("last-trick").hidden) paper("last-trick");
  renderHand();
  renderScore();
}

/** Where the cards of a finished trick go: to the middle of its taker's plate, as fractions of the picture. */
function trickTo(shown) {
  const taken = shown.events.find((event) => event.event === "trick");
  const plate = taken && shown.tips.find((tip) => tip.seat === taken.taker);
  return plate ? [plate.x + plate.width / 2, plate.y + plate.height / 2] : null;
}

/** Who takes a trick and why, until the person is to act. */
function showBanner(next) {
  const told = next.events.filter((event) => event.event === "trick" || event.event === "change");
  if (next.pause && told.some((event) => event.event === "trick")) {
    $("banner").replaceChildren(...told.flatMap((event) => [h("b", {}, event.text), event.why ? `: ${event.why}. ` : ". "]));
    $("banner").hidden = learning();
  } else if (next.yours || !frame.pause) $("banner").hidden = true;
}

/** What the numbers in the picture mean: a pointer that rests there shows it, and a click or tap. */
function showTips(next) {
  $("tips").replaceChildren(...next.tips.map((tip) => {
    const button = h("button", { type: "button", class: "tip", title: tip.text, "aria-label": tip.text, onclick: (event) => {
      if (goOn) return;
      event.stopPropagation();
      say(tip.text);
    } });
    for (const [name, value] of [["left", tip.x], ["top", tip.y], ["width", tip.width], ["height", tip.height]]) button.style[name] = `${100 * value}%`;
    return button;
  }));
  fitTips();
}

/** The picture keeps its proportions within its place: the tips lie where it is. */
function fitTips() {
  const svg = $("table").querySelector("svg");
  if (!svg) return;
  const place = $("table").getBoundingClientRect();
  const { width, height } = svg.viewBox.baseVal;
  const scale = Math.min(place.width / width, place.height / height);
  Object.assign($("tips").style, {
    width: `${width * scale}px`, height: `${height * scale}px`,
    left: `${(place.width - width * scale) / 2}px`, top: `${(place.height - height * scale) / 2}px`,
  });
}

function tell(line) {
  const log = $("log");
  log.append(h("p", {}, line));
  while (log.childElementCount > 200) log.firstElementChild.remove();
  log.scrollTop = log.scrollHeight;
}

// --- the hand -----------------------------------------------------------------------------------------------------

function renderHand() {
  const hand = $("hand");
  const ready = frame.yours && !busy;
  const buttons = [...hand.querySelectorAll("button")];
  const focused = buttons.indexOf(document.activeElement);
  const groups = [[null, frame.hand], ...Object.entries(frame.places)];
  let key = 0;
  const rows = groups.filter(([, kinds]) => kinds.length).map(([name, kinds]) => {
    const cards = kinds.map((kind) => {
      const legal = frame.legal.includes(kind);
      const hint = hints?.cards.find((card) => card.kind === kind);
      if (ready && legal) key += 1;
      const words = about.cards[kind].words;
      const label = ready ? `${words}, ${legal ? "legal" : "not legal now"}${hint ? hintWords(hint) : ""}` : words;
      return h(
        "button",
        {
          type: "button", class: `card${ready ? (legal ? " legal" : " illegal") : ""}`, "data-card": about.cards[kind].name,
          "aria-label": label, "aria-disabled": ready && legal ? null : "true", tabindex: "-1",
          "data-key": ready && legal && key <= 10 ? String(key % 10) : null,
          onclick: (event) => choose(kind, event.currentTarget),
        },
        cardImage(about, kind),
        hint ? hintMark(hint) || null : null,
      );
    });
    const title = name === null ? null : h("span", { class: "place", "aria-hidden": "true" }, PLACES[name] || name);
    const row = h("div", { class: `cards${name === null ? "" : " beside"}`, role: "group", "aria-label": PLACES[name] || name || "hand" }, title, ...cards);
    return row;
  });
  hand.replaceChildren(...rows);
  const count = hand.querySelectorAll("button").length;
  hand.style.setProperty("--columns", String(Math.max(5, Math.ceil(count / (count > 14 ? 3 : 2)))));
  hand.classList.toggle("ready", ready);
  $("take-back").disabled = !ready || !about.begun;
  hand.classList.toggle("hinted", hints !== null);
  const fresh = [...hand.querySelectorAll("button")];
  const old = focused >= 0 ? buttons[focused].dataset.card : null;
  const legal = fresh.filter((button) => button.classList.contains("legal"));
  const same = fresh.find((button) => button.dataset.card === old && (!ready || legal.includes(button)));
  const near = legal.find((button) => fresh.indexOf(button) >= focused) || legal.at(-1);
  const lost = ready && (takeFocus || document.activeElement === document.body);
  const target = focused < 0 ? legal[0] || fresh[0] : same || near || fresh[Math.min(focused, fresh.length - 1)];
  if (!target) return;
  target.tabIndex = 0;
  if (focused >= 0 || lost) target.focus({ preventScroll: true });
  if (ready) takeFocus = false;
}

const PLACES = { front: "in front of you", pick: "face up", keep: "lead cards" };

async function choose(kind, button) {
  if (goOn) return goOn();
  if (busy || !frame.yours || tryCard(kind, button)) return;
  say("");
  closeLesson?.();
  lesson = null;
  if (learning()) coach();
  const place = button.getBoundingClientRect();
  const from = [place.left + place.width / 2, place.top + place.height / 2];
  busy = true;
  $("hand").classList.remove("ready");
  button.classList.add("chosen");
  let reply;
  try {
    reply = await ask(`/api/games/${about.id}/plays`, { number: frame.number, card: about.cards[kind].name, size: size() });
  } catch (error) {
    busy = false;
    renderHand();
    say(error.message);
    if (error.status === 409) {
      await catchUp();
      say("This game has gone on in another tab or window. Here it is.");
    }
    if (error.status === 404) await gone();
    return;
  }
  touched = true;
  if (reply.game.notice) say(sentence(reply.game.notice));
  channel.postMessage({ id: about.id, stamp: reply.game.stamp });
  await showFrames(reply.frames, from, reply.game);
}

/** After a play in another tab, or a change of the picture's size: the game as it stands. */
async function catchUp() {
  let reply;
  try {
    reply = await ask(`/api/games/${about.id}?size=${size()}`);
  } catch (error) {
    if (error.status === 404) return gone();
    throw error;
  }
  await enter(reply);
}

/** The server does not know this game any more. */
async function gone() {
  if (await sure("The server does not have this game any more. Deal a new one?", "New game")) await newGame(chosen());
}

// Tabs that show the same game follow each other: those of this browser at once, others when they ask.
const channel = new BroadcastChannel("trick_envs");
channel.addEventListener("message", ({ data }) => guarded(async () => {
  if (idle() && data.id === about.id && data.stamp !== about.stamp) await catchUp();
}));

function idle() {
  return about && !about.over && !busy && !goOn;
}

async function follow() {
  if (document.hidden || !idle()) return;
  const { id, stamp } = about;
  const now = await ask(`/api/games/${id}/stamp`).catch(() => null); // the server may be away for a while
  if (now && idle() && about.id === id && about.stamp === stamp && now.stamp !== stamp) await catchUp();
}

const following = setInterval(() => guarded(follow), 3000);
document.addEventListener("visibilitychange", () => guarded(follow));
addEventListener("popstate", () => guarded(async () => {
  const asked = location.pathname.match(/^\/game\/(.+)$/);
  if (!asked || asked[1] === about?.id) return;
  await enter(await ask(`/api/games/${asked[1]}?size=${size()}`));
}));

/** Back to the person's last decision; the record counts it. */
async function takeBack() {
  if (!frame.yours || busy || !about.begun) return;
  const reply = await ask(`/api/games/${about.id}/back`, { number: frame.number, size: size() });
  channel.postMessage({ id: about.id, stamp: reply.game.stamp });
  await enter(reply);
}

// --- my games -------------------------------------------------------------------------------------------------------

async function fillGames() {
  const { games } = await ask("/api/games");
  const rows = games.map((one) => {
    const state = one.winners ? (one.winners.includes(one.seat) ? "won" : "lost") : one.over ? "ended" : `deal ${one.deals} of ${one.num_deals}`;
    const others = one.score.filter((_, seat) => seat !== one.seat).map((score) => signed(score)).join(", ");
    return h("li", {},
      h("span", {}, h("b", {}, one.title), ` ${state}`, h("small", {}, `${when(one.saved)} · you ${signed(one.score[one.seat])}, others ${others}${one.taken_back ? ` · taken back ${one.taken_back} ×` : ""}`)),
      h("span", { class: "row" },
        h("button", { type: "button", class: one.over ? null : "primary", onclick: () => guarded(() => openGame(one.id)), "aria-label": `${one.over ? "Open" : "Continue"} ${one.title}, ${when(one.saved)}` }, one.over ? "Open" : "Continue"),
        one.over ? h("button", { type: "button", class: "primary", onclick: () => guarded(() => lookBack(one.id, one.seat)), "aria-label": `Review ${one.title}, ${when(one.saved)}` }, "Review") : null,
        h("button", { type: "button", onclick: () => guarded(() => deleteGame(one)), "aria-label": `Delete ${one.title}, ${when(one.saved)}` }, "Delete")));
  });
  $("games").replaceChildren(h("h2", {}, "My games"),
    rows.length ? h("ol", { class: "games" }, ...rows) : h("p", {}, "None yet: a game is kept here from your first card on."));
}

function when(seconds) {
  return new Date(1000 * seconds).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

async function openGame(id) {
  closePapers();
  if (id === about.id) return;
  const reply = await ask(`/api/games/${id}?size=${size()}`);
  history.pushState(null, "", `/game/${id}`);
  takeFocus = true;
  await enter(reply);
}

async function deleteGame(one) {
  if (!await sure(`Delete this game of ${one.title} for good?`, "Delete")) return;
  await ask(`/api/games/${one.id}/delete`, {});
  await fillGames();
}

// --- hints --------------------------------------------------------------------------------------------------------

async function askHints() {
  if (!frame.yours || about.over) return;
  $("note").textContent = "Asking policy and search …";
  try {
    const { id } = about;
    const { number } = frame;
    const found = await ask(`/api/games/${id}/hint?number=${number}`);
    if (about.id !== id || frame.number !== number || !hintsOn || busy) return; // played meanwhile
    hints = found;
  } catch (error) {
    $("note").textContent = "";
    say(error.message);
    return;
  }
  showHints();
}

let figures = localStorage.getItem("figures") === "yes";

function toggleFigures() {
  figures = !figures;
  localStorage.setItem("figures", figures ? "yes" : "no");
  $("figures").setAttribute("aria-pressed", String(figures));
  if (hints) showHints();
}

/** The hint in words, which the server has; the figures on the cards and in a table are there when they are asked for. */
function showHints() {
  renderHand();
  $("note").replaceChildren(h("b", {}, sentence(figures ? hints.headline : hints.plain)), ". ",
    ...[figures ? hints.expectation : hints.outlook].filter(Boolean).map((text) => `${sentence(text)}.`));
  $("figures").setAttribute("aria-pressed", String(figures));
  renderValues();
}

/** What policy and search think of every legal card, as a table. */
function renderValues() {
  $("values").hidden = !(figures && hints);
  if ($("values").hidden) return;
  const trained = hints.sources.length > 1;
  const cards = [...hints.cards].sort((one, other) => (other.probability ?? 0) - (one.probability ?? 0) || (other.advantage ?? -99) - (one.advantage ?? -99));
  const heads = ["Card", ...(trained ? ["Policy"] : []), "Search, points"];
  $("values-table").replaceChildren(h("table", {},
    h("thead", {}, h("tr", {}, ...heads.map((name, index) => h("th", { scope: "col", class: index ? "number" : null }, name)))),
    h("tbody", {}, ...cards.map((card) => h("tr", { class: card.kind === hints.search ? "you" : null },
      h("th", { scope: "row" }, about.cards[card.kind].words),
      trained ? h("td", { class: "number" }, percent(card.probability)) : null,
      h("td", { class: "number" }, card.advantage === null ? "–" : signed(card.advantage, 1), card.error ? ` ± ${card.error.toFixed(1)}` : ""))))));
  $("values-from").textContent = `Search against the card of the policy. From what you know; ${hints.sources.join(", ")}.`;
}

/** What is told of a card besides its name. */
function hintWords(hint) {
  if (figures) return `, ${hint.words}`;
  return hint.kind === hints.search ? ", advised" : hint.kind === hints.baseline ? ", the policy’s card" : "";
}

/** A star on the card that is advised, or with figures a bar and a number for the policy, a number for the search. */
function hintMark(hint) {
  if (!figures) {
    const star = hint.kind === hints.search ? "★" : hint.kind === hints.baseline ? "☆" : "";
    return star && h("span", { class: "hint star", "aria-hidden": "true" }, star);
  }
  const bar = h("span", { class: "bar" }, h("span", {}));
  bar.firstElementChild.style.inlineSize = `${100 * (hint.probability ?? 0)}%`;
  const disagrees = hints.disagree && hint.kind === hints.search;
  return h(
    "span",
    { class: `hint${hint.kind === hints.baseline ? " policy" : ""}${disagrees ? " better" : ""}`, "aria-hidden": "true" },
    hint.probability === null ? null : bar,
    hint.probability === null ? null : h("b", { "data-text": percent(hint.probability) }),
    h("span", { class: "search" },
      h("span", { "data-text": hint.advantage === null ? "–" : signed(hint.advantage, 1) }),
      hint.error ? h("small", { "data-text": ` ±${hint.error.toFixed(1)}` }) : null),
  );
}

function percent(probability) {
  return probability > 0 && probability < 0.005 ? "<1 %" : `${Math.round(100 * probability)} %`;
}

async function toggleHints() {
  hintsOn = !hintsOn;
  $("show-hints").setAttribute("aria-pressed", String(hintsOn));
  $("figures").hidden = !hintsOn;
  $("note").textContent = "";
  hints = null;
  renderValues();
  if (hintsOn && !busy) await askHints();
  else renderHand();
}

// --- last trick, scores, ends ---------------------------------------------------------------------------------------

function fillLast() {
  $("last-trick").replaceChildren(
    h("h2", {}, "Last trick"),
    h("ol", {}, ...frame.previous.map(([seat, kind], index) => h(
      "li", { class: seat === frame.taker ? "took" : null },
      cardImage(about, kind),
      h("span", {}, h("b", {}, about.cards[kind].words), h("br"), frame.names[seat], index === 0 ? " led" : "", seat === frame.taker ? " took it" : ""),
    ))),
  );
}

function renderScore() {
  const deals = about.deals;
  const shown = deals.slice(-5);
  const first = deals.length - shown.length;
  const best = about.over && about.winners ? about.winners : [];
  const head = h("tr", {}, h("th", { scope: "col" }, "Player"), h("th", { scope: "col", class: "number" }, "Match"), ...shown.map((_, index) => h("th", { scope: "col", class: "number" }, `${first + index + 1}`)));
  const rows = frame.names.map((_, seat) => h(
    "tr", { class: [seat === about.seat ? "you" : "", seat === frame.acting ? "acts" : "", best.includes(seat) ? "won" : ""].join(" ") },
    h("th", { scope: "row" }, ...character(seat), ...(seat === about.seat ? [] : [" ", h("small", { title: about.players[seat] }, strengthOf(about.players[seat]))])),
    h("td", { class: "number total" }, signed(frame.scores[seat])),
    ...shown.map((scores) => h("td", { class: "number" }, signed(scores[seat]))),
  ));
  $("show-deal").hidden = !about.last_deal || (about.over && about.num_deals === 1);
  $("show-deal").textContent = about.last_deal ? `The points of deal ${about.last_deal.number}` : "";
  $("score").replaceChildren(h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows)));
}

/** Who has how many points; of a deal also what for, and the points of the match. */
function scoreTable(scores, items = [], totals = null) {
  const order = frame.names.map((_, seat) => seat).sort((one, other) => scores[other] - scores[one]);
  const rows = order.map((seat) => h("tr", { class: seat === about.seat ? "you" : null },
    h("th", { scope: "row" }, ...character(seat)),
    items.length ? h("td", {}, h("ul", { class: "items" }, ...(items[seat] || []).map((item) => h("li", {}, h("span", {}, item.words), h("b", {}, signed(item.points)))))) : null,
    h("td", { class: "number total" }, signed(scores[seat])),
    totals ? h("td", { class: "number" }, signed(totals[seat])) : null));
  const heads = ["Player", ...(items.length ? ["What for"] : []), totals ? "Deal" : "Points", ...(totals ? ["Match"] : [])];
  return h("div", { class: "scroll" }, h("table", { class: "result" },
    h("thead", {}, h("tr", {}, ...heads.map((name) => h("th", { scope: "col", class: /Player|for/.test(name) ? null : "number" }, name)))),
    h("tbody", {}, ...rows)));
}

/** What the points of the last finished deal are for. */
function dealTable() {
  return scoreTable(about.last_deal.scores, about.last_deal.items, about.num_deals > 1 ? about.last_deal.totals : null);
}

/** Shows the table of the last finished deal again. */
function showDeal() {
  if (!about.last_deal || goOn) return;
  const button = h("button", { type: "button", class: "primary", onclick: () => {
    sessionStorage.removeItem("deal");
    if (about.over) return matchOver();
    $("summary").hidden = true;
    takeFocus = true;
    return renderHand();
  } }, about.over ? "Result" : "Go on");
  $("summary").replaceChildren(h("h2", {}, `Deal ${about.last_deal.number} of ${about.num_deals}`), dealTable(), button);
  $("summary").hidden = false;
  button.focus({ preventScroll: true });
}

function dealOver(shown, last) {
  return new Promise((resolve) => {
    const number = shown.deal;
    const next = last ? "Result" : "Next deal";
    const button = h("button", { type: "button", class: "primary", onclick: done }, next);
    function done() {
      $("summary").hidden = true;
      sessionStorage.removeItem("deal");
      goOn = null;
      resolve();
    }
    about.last_deal = { number, scores: shown.deal_score, items: shown.events.find((one) => one.event === "deal")?.items ?? [], totals: shown.scores };
    sessionStorage.setItem("deal", `${about.id} ${number}`); // a reload shows it again
    $("summary").replaceChildren(h("h2", {}, `Deal ${number} of ${about.num_deals}`), dealTable(), button);
    renderScore();
    setTimeout(() => {
      if (goOn !== done) return;
      $("summary").hidden = false;
      button.focus({ preventScroll: true });
    }, still.matches ? 0 : 900);
    goOn = done;
  });
}

function matchOver() {
  const winners = about.winners;
  const title = winners === null ? "Match ended" : winners.includes(about.seat) ? (winners.length > 1 && !about.teams ? "You share the win" : "You win") : "Match over";
  const note = winners === null ? "All hands are open now." : winners.includes(about.seat) ? "" : `${winners.map((seat) => frame.names[seat]).join(", ")} ${winners.length > 1 ? "win" : "wins"}.`;
  $("summary").replaceChildren(
    h("h2", {}, title),
    ...(note ? [h("p", {}, note)] : []),
    about.num_deals === 1 && about.last_deal ? dealTable() : scoreTable(frame.scores),
    ...sameCards(),
    h("p", { class: "seed" }, `Seed ${about.seed}`),
    h("p", { class: "row" },
      h("button", { type: "button", class: "primary", onclick: () => guarded(() => lookBack()) }, "Review my game"),
      h("button", { type: "button", onclick: () => guarded(saveRecord) }, "Save the record"),
      h("button", { type: "button", onclick: () => guarded(() => newGame(chosen())) }, "Play again"),
      h("button", { type: "button", onclick: () => { $("summary").hidden = true; } }, "See the table")),
  );
  if (learning()) {
    $("coach").hidden = true;
    $("summary").querySelector(".row").prepend(
      h("button", { type: "button", class: "primary", onclick: () => guarded(() => newGame({ game: about.name })) }, "Play a whole match"));
  }
  $("summary").hidden = false;
  $("stop").disabled = true;
  $("prompt").textContent = sentence(winners === null ? "the match was ended: all hands are open" : frame.prompt);
  if (document.activeElement === document.body || $("hand").contains(document.activeElement)) $("summary").querySelector("button.primary").focus({ preventScroll: true });
}

/** What others have scored with the same cards, and a link for one more. */
function sameCards() {
  const own = frame.scores[about.seat];
  const others = about.others || [];
  return [
    others.length ? h("h3", {}, "The same cards") : "",
    others.length ? h("ol", { class: "result", id: "same" }, h("li", { class: "you" }, h("span", {}, "you"), h("b", {}, signed(own))),
      ...others.map((one, number) => h("li", {}, h("span", {}, one.first ? "who sent the link" : `player ${number + 1} by the link`), h("b", {}, signed(one.score[about.seat]))))) : "",
    about.winners && about.begun ? h("p", { id: "link" }, h("button", { type: "button", onclick: () => guarded(share) }, "The same cards for a friend")) : "",
  ];
}

async function share() {
  const { path } = await ask(`/api/games/${about.id}/share`, {});
  const address = new URL(path, location.href).href;
  const field = h("input", { readonly: true, value: address, "aria-label": "Link to the same cards" });
  $("link").replaceChildren(h("label", {}, "Send this link; your scores then stand beside each other. ", field));
  field.select();
  await navigator.clipboard?.writeText(address).catch(() => {});
}

/** The record as text: its seed may be larger than numbers are here. */
function record(game = about.id) {
  return ask(`/api/games/${game}/record`, undefined, (text) => text);
}

async function lookBack(game = about.id, seat = about.seat) {
  const { id } = await ask("/api/replays", await record(game));
  location.href = `/replay/${id}#step=0&seat=${seat}&review=1`;
}

async function saveRecord() {
  save(await record(), `${about.name}-${about.seed}.json`);
}

// --- choices --------------------------------------------------------------------------------------------------------

function option(value, text, disabled = false) {
  return h("option", { value, disabled }, text);
}

function fillForm() {
  $("game").replaceChildren(...choices.games.map((game) => option(game.name, game.title)));
  $("speed").replaceChildren(...Object.keys(SPEEDS).map((name) => option(name, name)));
  $("speed").value = localStorage.getItem("speed") || "normal";
  $("game").value = choices.first;
  fillPlayers();
}

function chosenGame() {
  return choices.games.find((game) => game.name === $("game").value);
}

function fillPlayers() {
  const game = chosenGame();
  $("players").replaceChildren(...game.players.map((count) => option(count, `${count}`)));
  $("players").value = String(game.default_players);
  $("options").replaceChildren(...Object.entries(game.options).map(([name, one]) => h("label", { class: "check" }, h("input", { type: "checkbox", name, checked: one.default }), ` ${one.meaning}`)));
  fillSeats();
}

function fillSeats() {
  const game = chosenGame();
  const count = Number($("players").value);
  $("seat").replaceChildren(...Array.from({ length: count }, (_, seat) => option(seat, `${choices.names[seat]}’s place`)));
  const chosen = game.pretrained.includes(count) ? STRENGTHS.strong : "ismcts:1000";
  fillStrengths($("opponents"), option("each", "a strength for each"));
  $("opponents").value = chosen;
  $("each").replaceChildren(...Array.from({ length: count - 1 }, () => h("label", {}, h("span", { class: "who" }), h("select", { onchange: showStrengths }), h("small", {}))));
  for (const select of $("each").querySelectorAll("select")) {
    fillStrengths(select);
    select.value = chosen;
  }
  showStrengths();
  const deals = game.deals[count];
  $("length").replaceChildren(...(deals > 1 ? [option("", `${deals} deals`)] : []), option("1", "1 deal"));
}

/** The strengths that a player can have, the weakest first; then specs that have no word. */
function fillStrengths(select, ...more) {
  const trained = chosenGame().pretrained.includes(Number($("players").value));
  const known = Object.entries(STRENGTHS).filter(([, spec]) => trained || !spec.startsWith("pretrained"));
  select.replaceChildren(...known.map(([word, spec]) => option(spec, word)), ...more,
    h("optgroup", { label: "other …" }, ...OTHERS.map((spec) => option(spec, spec))));
}

/** The strength of a player in a word, or its spec. */
function strengthOf(spec) {
  return Object.keys(STRENGTHS).find((word) => STRENGTHS[word] === spec) ?? spec;
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
    const side = number === 0 ? ", to your left" : number === labels.length - 1 ? ", to your right" : "";
    label.querySelector(".who").replaceChildren(avatar(other), h("span", {}, h("b", {}, choices.names[other]), side));
    label.querySelector("small").textContent = label.querySelector("select").value;
  });
}

/** The mark of a seat. */
function avatar(seat) {
  return h("img", { class: "avatar", src: `/avatars/${seat === "you" ? "you" : seat}.svg`, alt: "", width: "24", height: "24" });
}

/** The mark and the name of a seat at this table. */
function character(seat) {
  return [avatar(seat === about.seat ? "you" : seat), sentence(frame.names[seat])];
}

/** The form says what is being played. */
function showForm() {
  $("game").value = about.name;
  fillPlayers();
  $("players").value = String(about.num_players);
  fillSeats();
  $("seat").value = String(about.seat);
  const specs = [...Array(about.num_players - 1).keys()].map((number) => about.players[(about.seat + 1 + number) % about.num_players]);
  const selects = [...$("each").querySelectorAll("select")];
  for (const [select, spec] of [[$("opponents"), specs[0]], ...selects.map((select, number) => [select, specs[number]])]) {
    if (![...select.options].some((one) => one.value === spec)) select.querySelector("optgroup").append(option(spec, spec));
    select.value = spec;
  }
  if (specs.some((spec) => spec !== specs[0])) $("opponents").value = "each";
  showStrengths();
  const lengths = [...$("length").options].map((one) => one.value || String(chosenGame().deals[about.num_players]));
  if (!lengths.includes(String(about.num_deals))) $("length").append(option(about.num_deals, `${about.num_deals} deals`));
  $("length").value = about.num_deals === chosenGame().deals[about.num_players] && about.num_deals > 1 ? "" : String(about.num_deals);
  if (!wide.matches) $("choices").open = false;
}

function chosen() {
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

// --- rules ----------------------------------------------------------------------------------------------------------

const guides = new Map(); // by the name of the game: what the server tells of its rules

async function guideOf(name) {
  if (!guides.has(name)) guides.set(name, await ask(`/api/guides/${name}`));
  return guides.get(name);
}

/** A rule: its title, its picture, what it says. */
function rulePage(guide, number) {
  const page = guide.pages[number];
  return h("section", { class: "rule" },
    page.title ? h("h3", {}, page.title) : null,
    h("p", {}, page.text),
    page.words ? h("img", { src: `/guides/${guide.game}/${number}.svg`, alt: page.words, loading: "lazy" }) : null);
}

async function fillRules() {
  const name = about?.name || $("game").value;
  const guide = await guideOf(name);
  $("rules-text").replaceChildren(
    ...(guide.goal ? [h("p", { class: "goal" }, h("b", {}, "The goal: "), guide.goal)] : []),
    h("div", { class: "pages" }, ...guide.pages.map((_, number) => rulePage(guide, number))));
}

// --- keys and clicks ------------------------------------------------------------------------------------------------

async function guarded(action) {
  try {
    await action();
  } catch (error) {
    say(error.message);
  }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "Escape") return closePapers();
  if (typing || document.querySelector("dialog") || event.target.closest(".scroll, .pop:not(#summary), #coach")) return;
  if (!frame && !/^[gs?]$/i.test(event.key)) return; // those need no table
  if (event.key === " " && goOn) {
    event.preventDefault();
    return goOn();
  }
  if (/^[0-9]$/.test(event.key)) {
    const button = $("hand").querySelector(`[data-key="${event.key}"]`);
    if (button) button.click();
    return;
  }
  if (event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End") {
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
    return;
  }
  const keys = { h: toggleHints, u: takeBack, g: () => paper("games"), l: () => frame.previous.length && paper("last-trick"), n: () => newGameIfSure(chosen()), r: () => paper("rules"), s: toggleSound, "?": () => paper("keys") };
  const action = keys[event.key.toLowerCase()];
  if (action && !event.repeat) guarded(async () => action());
});

/** Shows or hides one of the papers that lie over the table. */
function paper(name) {
  const on = $(name).hidden;
  for (const other of ["rules", "games", "keys", "last-trick"]) {
    $(other).hidden = !(on && other === name);
    document.querySelector(`[aria-controls="${other}"]`).setAttribute("aria-expanded", String(!$(other).hidden));
  }
  if (on && name === "last-trick") fillLast();
  if (on && name === "rules") guarded(fillRules);
  if (on && name === "games") guarded(fillGames);
  if (on) $(name).scrollTop = 0;
}

function closePapers() {
  for (const name of ["rules", "games", "keys", "last-trick"]) if (!$(name).hidden) paper(name);
}

$("stage").addEventListener("click", (event) => {
  if (event.target.closest(".pop")) return;
  if (goOn) goOn();
  else closePapers();
});
$("figures").setAttribute("aria-pressed", String(figures));
$("figures").addEventListener("click", toggleFigures);
$("show-hints").addEventListener("click", () => guarded(toggleHints));
for (const button of document.querySelectorAll(".close")) button.addEventListener("click", closePapers);
$("take-back").addEventListener("click", () => guarded(takeBack));
for (const button of document.querySelectorAll("[aria-controls]")) {
  button.addEventListener("click", () => paper(button.getAttribute("aria-controls")));
}
$("deal-again").addEventListener("click", () => guarded(() => newGameIfSure(chosen())));
$("game").addEventListener("change", fillPlayers);
$("players").addEventListener("change", fillSeats);
$("seat").addEventListener("change", showStrengths);
$("opponents").addEventListener("change", showStrengths);
$("speed").addEventListener("change", () => localStorage.setItem("speed", $("speed").value));
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  guarded(() => newGameIfSure(chosen()));
});
$("show-deal").addEventListener("click", showDeal);
$("stop").addEventListener("click", () => guarded(async () => {
  if (!about || about.over || !await sure("End this match? Nobody plays on, and all hands are opened.", "End the match")) return;
  goOn?.();
  await enter(await ask(`/api/games/${about.id}/end`, { size: size() }));
}));
let resized = 0;
addEventListener("resize", () => {
  fitTips();
  clearTimeout(resized);
  resized = setTimeout(() => guarded(async () => {
    if (about && !busy && size() !== shownSize) await catchUp();
  }), 250);
});
guarded(start);
