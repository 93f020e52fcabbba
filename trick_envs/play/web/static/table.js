"use strict";
// What the two pages share: elements, pictures, requests.

const $ = (id) => document.getElementById(id);
const still = matchMedia("(prefers-reduced-motion: reduce)");
const wide = matchMedia("(min-width: 901px)");

/** An element: h("p", {class: "x", onclick: f}, child, "text"). */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A file that the person saves. */
function save(text, name) {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** What the server answers; an Error with its message and status if it refuses. */
async function ask(path, body, read = JSON.parse) {
  const request = body === undefined ? {} : {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  };
  let reply;
  try {
    reply = await fetch(path, request);
  } catch {
    throw new Error("The server does not answer. Is trick serve still running?");
  }
  const text = await reply.text();
  if (reply.ok) return read(text);
  let told = `the server answers ${reply.status}`;
  try {
    told = JSON.parse(text).error;
  } catch { /* not of the application */ }
  throw Object.assign(new Error(sentence(told)), { status: reply.status });
}

/** With a capital letter; names such as player_1 stay as they are. */
function sentence(text) {
  return text && !/^\S*_/.test(text) ? text[0].toUpperCase() + text.slice(1) : text || "";
}

/** The size in which a picture is asked for, so that it fills its place; "800x500". */
function sizeOf(holder, least, most) {
  const width = holder.clientWidth || 800;
  const filled = wide.matches || document.body.classList.contains("play"); // else as high as it likes
  const height = filled ? holder.clientHeight : Math.min(Math.max(innerHeight - 300, least * width), most * width);
  return [width, height].map((length) => 10 * Math.floor(Math.min(Math.max(length, 300), 2000) / 10)).join("x");
}

function signed(number, digits = 0) {
  const text = Math.abs(number).toFixed(digits);
  return Number(text) === 0 ? text : (number > 0 ? "+" : "−") + text;
}

/** The picture of a card; what it is, its surroundings say. */
function cardImage(about, kind) {
  return h("img", { src: `/cards/${about.name}/${about.num_players}/${kind}.svg`, alt: "", draggable: "false" });
}

// --- pictures ---------------------------------------------------------------------------------------------------

/** Shows an SVG; the trick of the old one goes to `sweep`, a place in fractions of the picture, and cards that were not there before slide in from `from` (a point on the screen), or from their seat. */
function showPicture(holder, svg, label, from = null, motion = true, sweep = null) {
  const old = holder.querySelector("svg");
  const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
  const fresh = document.importNode(parsed, true);
  fresh.setAttribute("aria-label", label);
  const before = new Set(old ? cardsIn(old).map(signature) : []);
  const sameSize = old && old.getAttribute("viewBox") === fresh.getAttribute("viewBox");
  holder.replaceChildren(fresh);
  if (sweep && sameSize && !still.matches) sweepTrick(old, fresh, sweep);
  if (!motion || still.matches || !sameSize) return;
  const came = cardsIn(fresh).filter((card) => !before.has(signature(card)));
  if (came.length > 3) return; // another deal, not a play
  const box = fresh.getBoundingClientRect();
  const scale = fresh.viewBox.baseVal.width / box.width;
  for (const card of came) {
    const place = card.getBoundingClientRect();
    const middle = [place.left + place.width / 2, place.top + place.height / 2];
    const start = from || [
      middle[0] + (middle[0] - box.left - box.width / 2) * 0.6,
      middle[1] + (middle[1] - box.top - box.height / 2) * 0.6,
    ];
    const [x, y] = [(start[0] - middle[0]) * scale, (start[1] - middle[1]) * scale];
    const home = card.getAttribute("transform").match(/-?[\d.]+/g);
    card.animate(
      [
        { transform: `translate(${Number(home[0]) + x}px, ${Number(home[1]) + y}px)`, opacity: from ? 1 : 0.2 },
        { transform: `translate(${home[0]}px, ${home[1]}px)`, opacity: 1 },
      ],
      { duration: 240, easing: "cubic-bezier(.2,.8,.3,1)" },
    );
  }
}

/** The cards of a finished trick move to its taker, and are gone. */
function sweepTrick(old, fresh, [x, y]) {
  const { width, height } = fresh.viewBox.baseVal;
  for (const card of old.querySelectorAll("g[data-seat]")) {
    const [left, top] = card.getAttribute("transform").match(/-?[\d.]+/g);
    card.classList.add("swept");
    fresh.append(card);
    const motion = card.animate(
      [
        { transform: `translate(${left}px, ${top}px)`, opacity: 1 },
        { transform: `translate(${x * width}px, ${y * height}px) scale(.25)`, opacity: 0.2 },
      ],
      { duration: 420, easing: "ease-in", fill: "forwards" },
    );
    motion.onfinish = () => card.remove();
  }
}

function cardsIn(svg) {
  return [...svg.querySelectorAll(":scope > g[transform]:not(.swept)")];
}

function signature(card) {
  return card.getAttribute("transform") + card.childElementCount + card.innerHTML.length;
}
