// What can be said without a page: where things lie on a table, what keys do, what a retry has shown.

const STRENGTHS = { // in words, and as a spec
  beginner: "random",
  casual: "greedy",
  good: "pimc:20",
  strong: "pretrained",
  best: "pretrained+rollout:64",
};
export const SPEEDS = { slow: [1100, 2400], normal: [550, 1200], fast: [220, 650], instant: [0, 0] }; // after a play, after a trick: ms
const RATIO = 1.4; // height of a card, in widths
const PILL = 17; // height of a word above a card
const STEP = PILL + 5; // from one row of cards to the next
export const ROW = 230; // width that a seat needs for its name and its facts in a line
const LEAST = 90; // height that the cards of a trick need
const AROUND = { 1: [0, 1, 0], 2: [1, 0, 1], 3: [1, 1, 1], 4: [1, 2, 1], 5: [1, 3, 1], 6: [1, 4, 1] };

/** The strength of a player, or its spec; of a file the end of its path, at most 40 letters. */
export function strengthOf(spec) {
  if (/^[0-9a-f]{32}\.onnx$/.test(spec)) return "own"; // that somebody has sent
  return Object.keys(STRENGTHS).find((word) => STRENGTHS[word] === spec) ?? (spec.endsWith(".onnx") ? spec.split(/[/\\]/).slice(-2).join("/").slice(-40) : spec);
}

/** The strengths that a player can have where a policy has been trained or not, the weakest first: [word, spec]. */
export function strengths(trained) {
  return Object.entries(STRENGTHS).filter(([, spec]) => trained || !spec.startsWith("pretrained"));
}

/**
 * Where the others sit and where the cards of a trick lie, in pixels of the felt.
 *
 * `plates`: for the seats clockwise from the person's left {x, y, width, height}; `cards`: the middles of the cards, the
 * person's first; `card`: their width; `least`: the height that a narrow felt needs. `open`: lines of open cards on the plate of each of the others; `more`: lines of
 * facts below the first; `short`: which of these plates need half a row only; `isNarrow`: seats in rows above the trick, as
 * on a phone.
 */
export function layOut(isNarrow, width, height, open, short = [], more = open.map(() => 0)) {
  return isNarrow ? narrow(width, height, open, short, more) : around(width, height, open.map((lines, seat) => lines + more[seat]));
}

/** How many lines small open cards take, by their names, in so many pixels. */
export function linesOf(names, room, edge = 9) {
  let [lines, left] = [0, 0];
  for (const name of names) {
    const wide = edge + 8 * name.length;
    if (wide > left) [lines, left] = [lines + 1, room];
    left -= wide + 2;
  }
  return lines;
}

/** How wide a seat's plate is where seats sit around the felt. */
export function plateWidth(width, others) {
  const top = (AROUND[others] ?? [2, others - 4, 2])[1];
  return Math.min(210, Math.max(126, (width / Math.max(top + 2, 4)) - 10), (width + 8) / Math.max(top, 3) - 8);
}

function around(width, height, open) {
  const others = open.length;
  const [left, top, right] = AROUND[others] ?? [2, others - 4, 2];
  const plate = plateWidth(width, others);
  const tall = open.map((lines) => (height < 300 ? 48 : 50) + 20 * lines);
  const above = top ? Math.max(...tall.slice(left, left + top)) + 6 : 0;
  const rim = width / Math.max(top, 1) >= 3 * plate + 8 ? 0 : above; // how high plates at the sides may lie where there is little room
  const column = (seats, x) => seats.map((seat, number) => {
    const spare = height - above - tall[seat];
    const down = seats.length > 1 ? number * spare / (seats.length - 1) : spare > 0 ? spare * 0.4 : Math.max(spare, rim - above);
    return { x, width: plate, height: tall[seat], y: above + down };
  });
  const seats = [...tall.keys()];
  const plates = [
    ...column(seats.slice(0, left).reverse(), 0).reverse(),
    ...seats.slice(left, left + top).map((seat, number) => ({ x: width * (number + 0.5) / top - plate / 2, y: 0, width: plate, height: tall[seat] })),
    ...column(seats.slice(left + top), width - plate),
  ];
  const area = { x: plate + 8, y: above, width: width - 2 * plate - 16, height: height - above };
  const deep = Math.max(left, right) > 1;
  const rows = deep ? 3 : 2;
  const card = Math.max(22, Math.min(104, (area.height - 4 - rows * STEP) / (rows * RATIO), area.width / (Math.max(top, 1) + 2) - 8));
  const flat = Math.min(104, (area.height - PILL - 12) / RATIO, area.width / (others + 1) - 8);
  if (flat > 1.3 * card && card < 72) return { plates, cards: inOneRow(others, area, flat), card: flat };
  const [middleX, middleY] = [area.x + area.width / 2, area.y + (area.height + PILL) / 2];
  const step = RATIO * card + STEP;
  const pitch = Math.min(card + 26, (area.width - 2 * (card + 8)) / Math.max(top, 1));
  const out = Math.min(Math.max(1.6 * card, (Math.max(top, 1) - 1) / 2 * pitch + card + 14), (area.width - card) / 2);
  const side = (count, sign) => (count > 1 ? [step / 2, -step / 2].map((y) => [middleX + sign * out, middleY + y]) : count ? [[middleX + sign * out, middleY - (top ? 0 : step / 2)]] : []); // beside a pair is room for no card
  const reach = deep ? step : step / 2;
  const cards = [
    [middleX, middleY + reach],
    ...side(left, -1),
    ...Array.from({ length: top }, (_, number) => [middleX + (number - (top - 1) / 2) * pitch, middleY - reach]),
    ...side(right, 1).reverse(),
  ];
  return { plates, cards, card };
}

/** The person's card in the middle and a little lower, the others clockwise from its left. */
function inOneRow(others, area, card) {
  const half = Math.ceil(others / 2);
  const order = [...Array.from({ length: half }, (_, number) => number + 1), 0, ...Array.from({ length: others - half }, (_, number) => number + half + 1)];
  const pitch = Math.min(area.width / (others + 1), card + 60);
  const cards = [];
  order.forEach((seat, number) => { cards[seat] = [area.x + area.width / 2 + (number - others / 2) * pitch, area.y + (area.height + PILL) / 2 + (seat === 0 ? 5 : -5)]; });
  return cards;
}

function narrow(width, height, open, short, more) {
  const others = open.length;
  const spread = Math.max(...open) > 0; // a row for each seat, with its cards
  const most = Math.min(4, Math.max(Math.floor(width / 68), 1)); // fewer where letters are large
  const columns = Math.ceil(others / Math.ceil(others / most));
  const gap = 4;
  const plates = [];
  let y = 0;
  for (let first = 0; first < others;) {
    const count = !spread ? Math.min(columns, others - first) : short[first] && short[first + 1] ? 2 : 1;
    const wide = spread ? (width - gap * (count - 1)) / count : (width - gap * (columns - 1)) / columns;
    const lines = (of) => 20 * Math.max(...of.slice(first, first + count));
    const tall = (spread ? (width < ROW ? 47 : 27) + lines(open) : 47) + lines(more);
    for (let number = 0; number < count; number += 1) plates.push({ x: number * (wide + gap), y, width: wide, height: tall });
    y += tall + gap;
    first += count;
  }
  const area = { x: 0, y, width, height: Math.max(height - y, LEAST) };
  const rows = spread && others > 4 ? 2 : spread ? 1 : Math.ceil(others / columns);
  const perRow = Math.ceil(others / rows);
  const stacked = Math.min(76, (area.height - (rows + 1) * STEP) / (RATIO * (rows + 1)), width / perRow - 8);
  const flat = Math.min(76, (area.height - PILL - 12) / RATIO, width / (others + 1) - 6);
  if (stacked < 0.9 * flat) return { plates, cards: inOneRow(others, area, Math.max(flat, 22)), card: Math.max(flat, 22), least: y + LEAST };
  const step = RATIO * stacked + STEP;
  const middle = y + (area.height + PILL) / 2;
  const cards = [[width / 2, middle + rows * step / 2]];
  for (let number = 0; number < others; number += 1) {
    cards.push([width / 2 + (number % perRow - (perRow - 1) / 2) * width / perRow, middle + (Math.floor(number / perRow) - rows / 2) * step]);
  }
  return { plates, cards, card: Math.max(stacked, 22), least: y + LEAST };
}

/** How many columns a hand has on a phone or tablet: as few rows as leave the cards wide; `least`: how wide with the gap beside it, in pixels. */
export function handColumns(cards, width, least) {
  const most = Math.max(Math.floor(width / least), 4);
  return Math.max(5, Math.ceil(cards / Math.ceil(cards / most)));
}

/** What a key does; empty if it does nothing. `place`: what has the keyboard: "", "hand", "text", "scroll" or "dialog". */
export function keyAction(key, place, waits, looksBack = false) {
  if (place === "dialog" || place === "text") return "";
  if (looksBack) {
    const steps = { ArrowLeft: "past-back", ArrowRight: "past-next", PageUp: "past-trick", Escape: "past-end", l: "past-end" };
    return Object.hasOwn(steps, key) ? steps[key] : "";
  }
  if (key === " ") return waits ? "go-on" : place === "hand" ? "nothing" : ""; // it never plays a card
  if (place === "scroll") return "";
  if (/^[0-9]$/.test(key)) return "card";
  if (/^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(key)) return "move";
  const letters = { h: "hints", u: "take-back", g: "games", l: "look-back", n: "new", r: "rules", s: "sound", "?": "keys" };
  return Object.hasOwn(letters, key.toLowerCase()) ? letters[key.toLowerCase()] : "";
}

/** A probability, as hints say it; what is not certain is never 0 % or 100 %. */
export function percent(probability) {
  if (probability > 0 && probability < 0.005) return "<1 %";
  return probability >= 0.995 && probability < 1 ? ">99 %" : `${Math.round(100 * probability)} %`;
}

/** The games of a browser that can go on, the latest of each kind, by name. */
export function toContinue(games) {
  const found = {};
  for (const one of games) if (!one.old && !one.over) found[one.game] ??= one;
  return found;
}
