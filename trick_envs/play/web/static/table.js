// The table: drawn from the frame that the server sends, at any size, without asking again.

import { avatar, cardImage, chip } from "./cards.js";
import { bar, h, image, said, sentence, signed, still } from "./lib.js";
import { layOut, linesOf, plateWidth, ROW } from "./logic.js";

const COLOURS = 9; // of seats
const REM = 15; // pixels: the layout is made for letters of this size, larger ones make everything larger

/** The words for each thing that a finished trick has done: who takes it, what else has changed, and why. */
export function reasons(frame) {
  const told = frame.events.filter(({ event }) => event === "trick" || event === "change");
  return told.map((event) => [h("b", {}, sentence(event.text)), (event.why ? said("words.because", event) : "") + said("words.end")]);
}

function rem(length) {
  return `${length / REM}rem`;
}

/** A table in an element. `tell`: is given what a number means, when it is tapped. */
export class Table {
  constructor(holder, tell) {
    this.tell = tell;
    this.frame = null;
    this.parts = Object.fromEntries(["top", "lines", "felt", "side", "foot"].map((name) => [name, h("div", { class: name })]));
    this.holder = holder;
    holder.classList.add("table");
    holder.replaceChildren(...Object.values(this.parts));
    const sized = new ResizeObserver(() => this.frame && this.place());
    for (const part of [holder, this.parts.felt]) sized.observe(part);
  }

  /** Draws a frame. `motion`: whether what is new moves there; `from`: the point on the screen from which a card comes; `brief`: why a trick is taken is told elsewhere. */
  show(about, frame, { motion = true, from = null, sweep = null, brief = false } = {}) {
    if (sweep !== null) this.remember();
    const old = this.frame && motion ? this.laid() : new Map();
    this.about = about;
    this.frame = frame;
    const { table } = frame;
    this.plates = new Map();
    this.drawTop();
    this.drawRows();
    const others = Array.from({ length: about.num_players - 1 }, (_, number) => (table.bottom + 1 + number) % about.num_players);
    for (const seat of others) this.plates.set(seat, this.plate(seat));
    const own = this.plate(table.bottom);
    own.classList.add("own");
    this.plates.set(table.bottom, own);
    this.spots = [table.bottom, ...others].map((seat) => this.spot(seat));
    this.parts.felt.replaceChildren(...others.map((seat) => this.plates.get(seat)), ...this.spots);
    // what is asked has a line of its own for ears, beside the table
    const yours = frame.yours || (frame.acting === table.bottom);
    this.parts.foot.replaceChildren(own, h("p", { class: ["prompt", yours && "yours"], "aria-hidden": frame.pause ? null : "true" }, ...this.prompt(brief)));
    this.place();
    if (!motion || still.matches) return;
    const came = [...this.laid()].filter(([key]) => !old.has(key));
    if (came.length <= 3) for (const [, card] of came) this.slide(card, from);
    if (sweep !== null) this.sweep(old, sweep);
  }

  /** What is asked; after a trick who takes it, and why. */
  prompt(brief) {
    const { frame } = this;
    const taken = frame.pause && frame.events.find((event) => event.event === "trick");
    if (!taken || brief) return [sentence(taken ? taken.text : frame.prompt)];
    return [h("span", {}, ...reasons(frame).flat())];
  }

  /** The cards that lie in the trick, by seat and kind. */
  laid() {
    return new Map([...this.parts.felt.querySelectorAll(".laid:not(.swept)")].map((card) => [card.dataset.key, card]));
  }

  drawTop() {
    const { about, frame } = this;
    const before = frame.previous.length && !(frame.pause || about.over) ? h("span", { class: "before", "aria-hidden": "true" },
      h("span", { class: "wordy" }, said("page.last_trick")),
      ...frame.previous.map(([seat, kind]) => h("span", { class: seat === frame.taker ? "took" : null }, chip(about, kind))),
      said("page.last_taker", { name: frame.names[frame.taker] })) : null;
    this.parts.top.replaceChildren(h("b", {}, about.title),
      h("span", { class: "count" }, h("span", {}, said("page.deal", { number: frame.deal, length: about.length })), frame.acting === null ? "" : said("page.trick", { number: frame.trick })), ...(before ? [before] : []));
  }

  drawRows() {
    const { rows } = this.frame.table;
    const row = (one) => this.row(one);
    this.parts.lines.replaceChildren(...rows.filter((one) => one.line).map(row));
    this.parts.side.replaceChildren(...rows.filter((one) => !one.line).map(row));
    this.holder.classList.toggle("carded", rows.some((one) => one.cards && one.bar));
  }

  /** What only this game has: a row that says what it means when it is tapped. */
  row(one) {
    const { about } = this;
    const classes = ["fact", ...["strong", "alarm", "small", "line"].filter((name) => one[name])];
    const children = [];
    if (one.icon) children.push(image(`/icons/${about.name}/${one.icon}.svg`, { class: "icon", width: "24", height: "24" }));
    if (one.suit) children.push(h("span", { class: `symbol suit-${one.suit}` }, about.suits[one.suit] ?? one.suit));
    if (one.label) children.push(h("span", { class: "label" }, one.label));
    if (one.cards) children.push(h("span", { class: "chips" }, ...one.cards.map((kind) => chip(about, kind))));
    if (one.value) children.push(h("b", {}, one.value));
    if (one.bar) children.push(bar(one.bar[0] / one.bar[1], one.suit ? `suit-${one.suit}` : null));
    if (one.note) children.push(h("small", {}, one.bar && one.suit ? h("span", { class: "of" }, said("page.share", { part: one.bar[0], whole: one.bar[1] })) : null, h("span", {}, one.note)));
    if (one.line) children.push(this.stations(one));
    return one.about
      ? h("button", { type: "button", class: [...classes, "tip"], title: one.about, "aria-label": this.withCards([one.label, one.suit ? about.suits[one.suit] : "", one.value].filter(Boolean).join(" "), one.cards), onclick: (event) => this.explain(event, one.about) }, ...children)
      : h("div", { class: classes }, ...children);
  }

  /** The name of a button for ears: words, and the cards that lie on it. */
  withCards(words, kinds = []) {
    return [words, ...kinds.map((kind) => this.about.cards[kind].words)].filter(Boolean).join(said("words.comma")) || null;
  }

  stations(one) {
    const [start, end, whose] = one.span ?? [];
    return h("span", { class: "stations" }, ...one.line.map((seat, number) => {
      const name = seat === null ? "" : this.frame.names[seat];
      const within = one.span && number >= start && number <= end;
      return h("span", { class: ["station", seat !== null && `seat-${seat % COLOURS}`, within && `within-${whose % COLOURS}`, number === start && "first", number === end && "last"], title: seat === null ? null : sentence(name) },
        h("span", {}, seat === null ? `${number + 1}` : name.startsWith("player_") ? `${seat}` : name === said("words.you") ? said("page.you") : name[0]));
    }));
  }

  plate(seat) {
    const { about, frame } = this;
    const one = frame.table.seats[seat];
    const you = frame.names[seat] === said("words.you");
    const seen = seat === frame.table.bottom ? [] : one.hand.filter((kind) => kind !== null);
    const hidden = one.hand.length - seen.length;
    return h("button", { type: "button", class: ["plate", "tip", seat === frame.acting && "acts", frame.table.winners.includes(seat) && "won"], "data-seat": seat, title: one.about, "aria-label": this.withCards(sentence(frame.names[seat]), seen), onclick: (event) => this.explain(event, one.about) },
      h("span", { class: "who" }, avatar(you ? "you" : seat), h("b", {}, ...nameOf(frame.names[seat])), one.dealer ? h("i", { class: "dealer", title: said("page.dealer") }, said("page.dealer_letter")) : null, h("b", { class: "points" }, signed(frame.scores[seat]))),
      h("span", { class: "second" }, seat !== frame.table.bottom && hidden ? h("span", { class: "held" }, `${hidden}`) : null, ...one.facts.flatMap((fact) => [this.fact(fact), " "])),
      seen.length ? h("span", { class: "chips open" }, ...seen.map((kind) => chip(about, kind))) : null);
  }

  fact(fact) {
    return h("span", { class: ["bit", fact.small && "small"] },
      fact.icon ? image(`/icons/${this.about.name}/${fact.icon}.svg`, { class: "icon", width: "15", height: "15" }) : null,
      fact.suit ? h("span", { class: `symbol suit-${fact.suit}` }, this.about.suits[fact.suit] ?? fact.suit) : null,
      fact.value ? h("b", {}, fact.value) : null, fact.label ?? null, fact.note ?? null);
  }

  /** The place of a seat's cards in the trick. */
  spot(seat) {
    const { about, frame } = this;
    const { table } = frame;
    const cards = table.trick.filter(([who]) => who === seat);
    const remark = table.remarks.find(([who]) => who === seat)?.[1];
    const above = seat === table.led ? said("page.led") : remark;
    const takes = seat === table.taking && cards.length ? said("page.takes") : null;
    const label = (kind) => [said("page.card_of", { card: about.cards[kind].words, name: frame.names[seat] }), above, takes].filter(Boolean).join(said("words.comma"));
    return h("div", { class: ["spot", seat === frame.acting && !cards.length && "next", seat === table.taking && "takes"], "data-seat": seat },
      ...cards.map(([, kind]) => h("span", { class: "laid", "data-key": `${seat}.${kind}`, role: "img", "aria-label": label(kind) }, cardImage(about, kind))),
      above ? h("span", { class: ["pill", seat === table.led && "led"], "aria-hidden": "true" }, above) : null,
      takes ? h("span", { class: "pill takes", "aria-hidden": "true" }, takes) : null);
  }

  /** Puts plates and cards where they belong at this size. */
  place() {
    const { felt } = this.parts;
    const unit = parseFloat(getComputedStyle(document.documentElement).fontSize) / REM;
    const narrow = this.holder.clientWidth < 640 * unit;
    this.holder.classList.toggle("small", narrow);
    this.holder.classList.toggle("large", this.holder.clientWidth < 290 * unit);
    const low = this.holder.clientHeight < (narrow ? 390 : 350) && !(narrow && innerHeight > innerWidth); // upright it is as high as it needs
    this.holder.classList.toggle("low", low);
    const [width, height] = [felt.clientWidth / unit, felt.clientHeight / unit];
    if (!width) return;
    const others = [...this.plates].filter(([seat]) => seat !== this.frame.table.bottom);
    const room = narrow ? width - 12 : plateWidth(width, others.length) - 16;
    const open = others.map(([seat]) => this.frame.table.seats[seat].hand.filter((kind) => kind !== null));
    const few = narrow && low && open.every((kinds) => kinds.length < 4); // cards below the facts: rows would be too high
    const below = open.map((kinds) => (few && kinds.length ? 1 : 0));
    const lines = open.map((kinds) => {
      if (few) return 0;
      const names = kinds.map((kind) => this.about.cards[kind].name);
      return narrow && width >= ROW && linesOf(names, width - 190, 6) === 1 ? 0.2 : linesOf(names, room, narrow ? 6 : 9); // a few beside the name
    });
    const short = open.map((kinds) => width >= 480 && kinds.length <= 2);
    this.holder.classList.toggle("spread", Math.max(...lines) > 0);
    let plan = layOut(narrow, width, height, lines, short, below);
    this.seat(others, plan);
    const more = others.map(([, plate]) => moreLines(plate.querySelector(".second")));
    if (Math.max(...more) > 0) {
      plan = layOut(narrow, width, height, lines, short, more.map((one, number) => one + below[number]));
      this.seat(others, plan, more);
    }
    const amid = (x) => Math.abs(x - width / 2) < 5;
    const [pairX, pairY] = plan.cards[this.spots.findIndex((spot) => spot.querySelector(".laid + .laid"))] ?? []; // wider than its place
    const next = Math.min(...plan.cards.filter(([x, y]) => x !== pairX && Math.abs(y - pairY) < 1.4 * plan.card).map(([x]) => Math.abs(x - pairX)));
    const card = Math.min(plan.card, next / (amid(pairX) ? 1.28 : 1.55));
    this.spots.forEach((spot, number) => {
      const [x, y] = plan.cards[number];
      const inwards = amid(x) ? "center" : x < width / 2 ? "flex-start" : "flex-end"; // of two lead cards
      Object.assign(spot.style, { left: rem(x - card / 2), top: rem(y - 0.7 * card), justifyContent: inwards });
    });
    felt.style.setProperty("--card", rem(card));
    felt.style.minHeight = narrow ? rem(plan.least) : null;
    const { foot } = this.parts;
    const [own, prompt] = foot.children;
    foot.classList.remove("long");
    foot.classList.toggle("long", own.offsetTop > prompt.offsetTop && prompt.offsetTop + prompt.scrollHeight > own.offsetTop);
  }

  /** Puts the plates of the others where they belong. */
  seat(others, { plates }, more = others.map(() => 0)) {
    others.forEach(([, plate], number) => {
      const { x, y, width, height } = plates[number];
      Object.assign(plate.style, { left: rem(x), top: rem(y), width: rem(width), height: rem(height) });
      plate.querySelector(".second").style.height = `${1.3 * (1 + more[number])}rem`;
    });
  }

  explain(event, text) {
    event.stopPropagation();
    this.tell(text);
  }

  slide(card, from) {
    const place = card.getBoundingClientRect();
    const seat = Number(card.parentElement.dataset.seat);
    const plate = this.plates.get(seat).getBoundingClientRect();
    const start = from ?? [plate.left + plate.width / 2, plate.top + plate.height / 2];
    card.animate([
      { transform: `translate(${start[0] - place.left - place.width / 2}px, ${start[1] - place.top - place.height / 2}px)`, opacity: from ? 1 : 0.2 },
      { transform: "none", opacity: 1 },
    ], { duration: 240, easing: "cubic-bezier(.2,.8,.3,1)" });
  }

  /** The cards of a finished trick move to the plate of its taker, and are gone. */
  sweep(old, taker) {
    const felt = this.parts.felt.getBoundingClientRect();
    const plate = this.plates.get(taker).getBoundingClientRect();
    for (const card of old.values()) {
      const place = card.at;
      if (!place) continue;
      const ghost = card.cloneNode(true);
      ghost.classList.add("swept");
      Object.assign(ghost.style, { left: `${place.left - felt.left}px`, top: `${place.top - felt.top}px`, width: `${place.width}px` });
      this.parts.felt.append(ghost);
      const [x, y] = [plate.left + plate.width / 2 - place.left - place.width / 2, plate.top + plate.height / 2 - place.top - place.height / 2];
      ghost.animate([{ transform: "none", opacity: 1 }, { transform: `translate(${x}px, ${y}px) scale(.25)`, opacity: 0.2 }], { duration: 420, easing: "ease-in", fill: "forwards" })
        .onfinish = () => ghost.remove();
    }
  }

  /** Remembers where the cards of the trick lie, before something else is shown. */
  remember() {
    for (const card of this.laid().values()) card.at = card.getBoundingClientRect();
  }
}

/** The name of a seat, and of player_1 what can be left out. */
function nameOf(name) {
  return name.startsWith("player_") ? ["p", h("span", { class: "wordy" }, "layer"), name.slice(6)] : [sentence(name)];
}

/** How many lines the facts of a plate need below the first, which they have. */
function moreLines(second) {
  return Math.round(second.scrollHeight / second.clientHeight) - 1;
}
