"use strict";
// The viewer. Its pictures come from the server, or, in a page made by trick replay --html, from the page itself.

let source = null; // where steps and hints come from
let about = null; // the game, and the timeline
let at = 0; // the step
let seen = "all"; // by whom
let deal = 0; // the deal whose tricks are listed
let hints = {}; // by step
let playing = 0; // the timer that steps on
let order = []; // every play of the timeline, by step

// --- sources ----------------------------------------------------------------------------------------------------

function fromServer(id) {
  return {
    about: () => ask(`/api/replays/${id}`, undefined, (text) => ({ ...JSON.parse(text), text })),
    step: (step, seat) => ask(`/api/replays/${id}/steps/${step}?seat=${seat}&size=${sizeOf($("table"), tallness(seat), Math.max(1.6, tallness(seat)))}`),
    hint: (step) => ask(`/api/replays/${id}/hints/${step}`),
    hints: null, // asked for one by one
    playOn: (step, seat) => { location.href = `/?replay=${id}&step=${step}&seat=${seat}`; },
  };
}

/** The height of a picture on a phone, in widths: with all open, each hand has a row of its own. */
function tallness(seat) {
  return seat === "all" ? Math.max(1.3, (530 + 38 * (about.num_players - 4)) / 390) : 1.3;
}

/** The data in the page itself: gzipped JSON, in base64. */
async function fromPage(element) {
  const bytes = Uint8Array.from(atob(element.textContent.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const data = JSON.parse(await new Response(stream).text());
  return {
    about: async () => data.about,
    step: async (step, seat) => {
      const parts = data.pictures[wide.matches ? "wide" : "phone"][seat][step];
      return { ...data.told[seat][step], svg: parts.map((part) => data.parts[part]).join("") };
    },
    hint: async (step) => data.hints[step] ?? null,
    hints: data.hints,
    playOn: null,
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
  document.title = `${about.title}, replay · trick_envs`;
  if ($("drop")) $("drop").hidden = true;
  $("viewer").hidden = false;
  document.querySelector("aside").hidden = false;
  document.body.classList.add("loaded");
  order = about.deals.flatMap((one, number) => one.tricks.flatMap((trick) => trick.plays.map(([step, seat, card, phase]) => ({ step, seat, card, phase, deal: number, trick }))));
  $("view").replaceChildren(h("option", { value: "all" }, "everybody: all open"), ...Array.from({ length: about.num_players }, (_, seat) => h("option", { value: seat }, `player_${seat}`)));
  $("deals").replaceChildren(...about.deals.map((_, number) => h("button", { type: "button", "aria-pressed": "false", onclick: () => toDeal(number) }, `${number + 1}`)));
  $("deals").hidden = about.deals.length < 2;
  $("play-on").hidden = !source.playOn;
  $("analysis").hidden = Boolean(source.hints);
  hints = source.hints ? { ...source.hints } : {};
  $("result").replaceChildren(h("h2", {}, about.over ? "Result" : "Score so far"), resultTable());
  readAddress();
  await go(at);
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
  const winners = about.winners || [];
  const head = h("tr", {}, h("th", { scope: "col" }, "Deal"), h("th", { scope: "col", class: "number" }, "Match"), ...scored.map((_, number) => h("th", { scope: "col", class: "number" }, `${number + 1}`)));
  const rows = about.score.map((score, seat) => h("tr", { class: winners.includes(seat) ? "won" : null }, h("th", { scope: "row" }, `player_${seat}`), h("td", { class: "number total" }, signed(score)), ...scored.map((one) => h("td", { class: "number" }, signed(one[seat])))));
  return h("div", { class: "scroll" }, h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows)), h("p", { class: "seed" }, `Seed ${about.seed}`));
}

// --- a step -------------------------------------------------------------------------------------------------------

let asking = 0;

async function go(step, motion = false) {
  at = Math.min(Math.max(step, 0), about.steps - 1);
  const mine = ++asking;
  history.replaceState(null, "", `#step=${at}&seat=${seen}`);
  const frame = await source.step(at, seen);
  if (mine !== asking) return;
  const play = order.find((one) => one.step === at);
  showPicture($("table"), frame.svg, `The table, ${seen === "all" ? "all hands open" : `as player_${seen} saw it`}. ${sentence(frame.prompt)}.`, null, motion);
  const title = $("table").querySelector("title");
  if (title) title.remove(); // it would be shown as a tooltip
  $("told").textContent = frame.told ? `${frame.told}.`.replace("..", ".") : sentence(frame.prompt);
  const owner = play ? play.deal : dealOfStep(at);
  if (owner !== deal || !$("timeline").childElementCount) {
    deal = owner;
    renderTimeline();
  }
  markTimeline();
  $("to-first").disabled = $("to-back").disabled = $("to-trick").disabled = at === 0;
  $("to-last").disabled = $("to-next").disabled = $("to-next-trick").disabled = at === about.steps - 1;
  await think(play, mine);
}

function dealOfStep(step) {
  let found = 0;
  about.deals.forEach((one, number) => {
    if (one.tricks.length && one.tricks[0].plays[0][0] <= step) found = number;
  });
  return found;
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
    $("mind-title").textContent = "What they think";
    box.replaceChildren(h("p", { class: "soft" }, at === about.steps - 1 ? "The record ends here." : "The trick is complete."));
    return;
  }
  $("mind-title").textContent = `player_${play.seat} to ${play.phase}`;
  if (!(at in hints)) hints[at] = await source.hint(at).catch(() => null);
  if (mine !== asking) return;
  const hint = hints[at];
  if (!hint) {
    box.replaceChildren(h("p", {}, `player_${play.seat} names ${words(play.card)}.`));
    return;
  }
  const trained = hint.sources.length > 1;
  const cards = [...hint.cards].sort((one, other) => (other.probability ?? 0) - (one.probability ?? 0) || (other.advantage ?? -99) - (one.advantage ?? -99));
  const rows = cards.map((card) => {
    const name = about.cards[card.kind].name;
    const bar = h("span", { class: "bar" }, h("span", {}));
    bar.firstElementChild.style.inlineSize = `${100 * (card.probability ?? 0)}%`;
    const better = hint.disagree && card.kind === hint.search;
    return h(
      "tr", { class: `${name === play.card ? "played" : ""}${better ? " better" : ""}` },
      h("th", { scope: "row" }, chip(name), name === play.card ? h("small", {}, "played") : null),
      trained ? h("td", {}, bar) : null,
      trained ? h("td", { class: "number" }, percent(card.probability)) : null,
      h("td", { class: "number" }, card.advantage === null ? "–" : signed(card.advantage, 1), card.error ? h("small", {}, ` ±${card.error.toFixed(1)}`) : null),
    );
  });
  const note = [hint.headline, hint.expectation].filter(Boolean).map((text) => `${sentence(text)}.`).join(" ");
  box.replaceChildren(
    h("div", { class: "scroll" }, h("table", { class: "mind" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Card"), trained ? h("th", { scope: "col", colspan: "2" }, "Policy") : null, h("th", { scope: "col", class: "number" }, "Search, points"))),
      h("tbody", {}, ...rows))),
    h("p", { class: "soft" }, `${note} From what player_${play.seat} knew; policy: ${trained ? hint.sources[0] : "none"}, search: ${hint.sources.at(-1)}.`),
  );
}

function words(name) {
  return about.cards.find((card) => card.name === name).words;
}

function percent(probability) {
  return probability > 0 && probability < 0.005 ? "<1 %" : `${Math.round(100 * probability)} %`;
}

/** A card as a small coloured text. */
function chip(name) {
  return h("span", { class: `chip suit-${name.at(-1)}`, title: words(name) }, name.slice(0, -1), h("i", { "aria-hidden": "true" }, SUITS[name.at(-1)] ? `${SUITS[name.at(-1)]}\uFE0E` : name.at(-1)), h("span", { class: "hidden" }, words(name)));
}

const SUITS = { S: "♠", H: "♥", D: "♦", C: "♣", X: "★", R: "●", Y: "▲", G: "■", B: "◆", N: "⬢", P: "★" }; // as on the cards

// --- the timeline: a row a trick, a column a seat ---------------------------------------------------------------------

function renderTimeline() {
  const seats = [...Array(about.num_players).keys()];
  const head = h("tr", {}, h("th", { scope: "col" }, h("span", { class: "hidden" }, "Trick")), ...seats.map((seat) => h("th", { scope: "col", title: `player_${seat}` }, h("span", { "aria-hidden": "true" }, `${seat}`), h("span", { class: "hidden" }, `player_${seat}`))));
  const rows = about.deals[deal].tricks.map((trick) => {
    const leader = trick.plays.find(([, , , phase]) => phase === "lead")?.[1];
    const number = trick.name === "pass" ? "pass" : String(trick.name + 1);
    const first = trick.end ?? trick.plays[0][0];
    return h(
      "tr", { class: trick.name === "pass" ? "passing" : null },
      h("th", { scope: "row" }, h("button", { type: "button", class: "jump", "data-end": trick.end, onclick: () => go(first), "aria-label": trick.name === "pass" ? "passing" : `trick ${number}` }, number)),
      ...seats.map((seat) => h(
        "td", { class: `${seat === trick.taker ? "takes" : ""}${seat === leader ? " leads" : ""}` },
        ...trick.plays.filter(([, who]) => who === seat).map(([step, who, card, phase]) => h(
          "button",
          {
            type: "button", class: "jump", "data-step": step, onclick: () => go(step),
            "aria-label": `player_${who} ${phase === "follow" ? "plays" : `${phase}s`} ${words(card)}${seat === trick.taker ? ", takes the trick" : ""}`,
          },
          chip(card),
        )),
      )),
    );
  });
  $("timeline").replaceChildren(h("table", { class: "timeline" }, h("thead", {}, head), h("tbody", {}, ...rows)));
  [...$("deals").children].forEach((button, number) => button.setAttribute("aria-pressed", String(number === deal)));
  markDisagreement();
  $("analysed").textContent = "";
  if (source.hints) tellDisagreement();
}

function markTimeline() {
  for (const button of $("timeline").querySelectorAll("button")) {
    const here = Number(button.dataset.step ?? button.dataset.end ?? -1) === at;
    button.toggleAttribute("aria-current", here);
    if (here) {
      button.setAttribute("aria-current", "step");
      button.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  }
}

function markDisagreement() {
  for (const button of $("timeline").querySelectorAll("button[data-step]")) {
    const hint = hints[button.dataset.step];
    const play = hint && order.find((one) => one.step === Number(button.dataset.step));
    button.classList.toggle("disagree", Boolean(hint?.disagree));
    button.classList.toggle("worse", Boolean(hint?.disagree && about.cards[hint.search].name !== play.card));
  }
}

async function analyse() {
  $("analyse").disabled = true;
  const plays = order.filter((one) => one.deal === deal);
  const asked = deal;
  for (const [index, { step }] of plays.entries()) {
    if (!(step in hints)) hints[step] = await source.hint(step);
    if (asked === deal && (index % 4 === 3 || index === plays.length - 1)) {
      markDisagreement();
      $("analysed").textContent = `${index + 1} of ${plays.length} decisions searched`;
    }
  }
  if (asked === deal) tellDisagreement();
  $("analyse").disabled = false;
}

/** In words, where search disagrees in this deal. */
function tellDisagreement() {
  const plays = order.filter((one) => one.deal === deal);
  const found = plays.filter(({ step }) => hints[step]?.disagree);
  const worse = found.filter(({ step, card }) => about.cards[hints[step].search].name !== card);
  $("analysed").textContent = found.length
    ? `Search disagrees with the policy in ${found.length} of ${plays.length} decisions (dots); in ${worse.length} of them another card was played than the one that it prefers (red).`
    : "Search disagrees nowhere in this deal.";
}

// --- files, keys ------------------------------------------------------------------------------------------------------

async function open(file) {
  $("message").textContent = "";
  if (file.size > 1_000_000) throw new Error("This file is larger than any match record (1 MB).");
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
    $("message").textContent = error.message;
  }
}

function run(on) {
  clearInterval(playing);
  playing = on ? setInterval(() => (at < about.steps - 1 ? go(at + 1, true) : run(false)), 900) : 0;
  $("to-play").setAttribute("aria-pressed", String(on));
  $("to-play").setAttribute("aria-label", on ? "pause" : "play");
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
const KEYS = { Home: "to-first", PageUp: "to-trick", ArrowLeft: "to-back", " ": "to-play", ArrowRight: "to-next", PageDown: "to-next-trick", End: "to-last" };

for (const [id, action] of Object.entries(STEPS)) $(id).addEventListener("click", () => guarded(action));
document.addEventListener("keydown", (event) => {
  if (!source || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
  if (event.key === " " && event.target.closest("button, a")) return;
  if (event.key in KEYS) {
    event.preventDefault();
    guarded(STEPS[KEYS[event.key]]);
  } else if (/^[0-9a]$/.test(event.key)) {
    const seat = event.key === "a" ? "all" : event.key;
    if (seat !== "all" && Number(seat) >= about.num_players) return;
    $("view").value = seen = seat;
    guarded(() => go(at));
  }
});
$("view").addEventListener("change", () => {
  seen = $("view").value;
  guarded(() => go(at));
});
$("analyse").addEventListener("click", () => guarded(analyse));
$("save").addEventListener("click", () => save(JSON.stringify(about.record), `${about.name}-${about.seed}.json`));
$("play-on").addEventListener("click", () => {
  const play = order.find((one) => one.step >= at);
  source.playOn(at, seen === "all" ? (play ? play.seat : 0) : seen);
});
if ($("file")) {
  $("another").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", () => $("file").files[0] && guarded(() => open($("file").files[0])));
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("over");
  });
  document.addEventListener("dragleave", () => document.body.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("over");
    if (event.dataTransfer.files[0]) guarded(() => open(event.dataTransfer.files[0]));
  });
}
addEventListener("hashchange", () => {
  if (!about) return;
  readAddress();
  guarded(() => go(at));
});
let resized = 0;
addEventListener("resize", () => {
  clearTimeout(resized);
  if (about) resized = setTimeout(() => guarded(() => go(at)), 250);
});
guarded(start);
