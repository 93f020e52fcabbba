// What all pages share: elements, requests, words.

export const $ = (id) => document.getElementById(id);
export const still = matchMedia("(prefers-reduced-motion: reduce)");
export const messages = JSON.parse($("messages").textContent); // by section and key, in the language of the page

/** A message, by "section.key", with its blanks filled in: "{number} of {all}". */
export function said(name, blanks = {}) {
  const [section, key] = name.split(".");
  return messages[section][key].replace(/\{(\w+)\}/g, (_, blank) => blanks[blank]);
}

/** An element: h("p", {class: ["x", late && "y"], onclick: f}, child, "text"). */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : Array.isArray(value) ? value.filter(Boolean).join(" ") : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const pictures = {}; // those that a page has with it, by their address

/** A picture of the server; what it shows, its surroundings say. */
export function image(address, attributes = {}) {
  return h("img", { src: pictures[address] ?? address, alt: "", ...attributes });
}

/** A file that the person saves. */
export function save(text, name) {
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** What the server answers; an Error with its message and status if it refuses. */
export async function ask(path, body, read = JSON.parse) {
  const file = body instanceof Blob;
  const request = body === undefined ? {} : {
    method: "POST",
    headers: { "content-type": file ? "application/octet-stream" : "application/json" },
    body: file || typeof body === "string" ? body : JSON.stringify(body),
  };
  let reply;
  try {
    reply = await fetch(path, request);
  } catch {
    throw new Error(said("page.silent"));
  }
  const text = await reply.text();
  if (reply.ok) return read(text);
  let told = said("page.status", reply);
  try {
    told = JSON.parse(text).error;
  } catch { /* not of the application */ }
  throw Object.assign(new Error(sentence(told)), { status: reply.status });
}

/** With a capital letter; names such as player_1 stay as they are. */
export function sentence(text) {
  return text && !/^\S*_/.test(text) ? text[0].toUpperCase() + text.slice(1) : text || "";
}

/** The same with a stop at its end. */
export function stopped(text) {
  const [told, stop] = [sentence(text), said("words.end").trim()];
  return told.endsWith(stop) ? told : told + stop;
}

export function signed(number, digits = 0) {
  const text = Math.abs(number).toFixed(digits);
  return Number(text) === 0 ? text : (number > 0 ? "+" : "−") + text;
}

/** A bar, so much of its length filled. */
export function bar(share, style = null) {
  const whole = h("span", { class: "bar" }, h("span", { class: style }));
  whole.firstElementChild.style.inlineSize = `${100 * Math.min(share, 1)}%`;
  return whole;
}

/** An element that shows a message for a while, or until the next one. */
export function speaker(element) {
  let timer = 0;
  element.popover = "manual";
  return (text, stays = false) => {
    element.textContent = text;
    element.hidePopover?.();
    if (text) element.showPopover?.(); // above a dialog that is open
    clearTimeout(timer);
    if (text && !stays) timer = setTimeout(() => { element.textContent = ""; }, 9000);
  };
}

/** Files that are dropped on a page; `wanted`: whether it takes any now. */
export function onDrop(take, wanted = () => true) {
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.toggle("over", wanted());
  });
  document.addEventListener("dragleave", () => document.body.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("over");
    if (wanted() && event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
}

/** Opens a dialog that the person has not asked for: for a moment no button of it hears a space bar that was to go on. */
export function appear(dialog) {
  dialog.showModal();
  dialog.scrollTop = 0;
  const until = performance.now() + 600;
  dialog.onkeydown = dialog.onkeyup = (event) => { if (event.key === " " && event.timeStamp < until) event.preventDefault(); };
}

/** Asks in a dialog; resolves to whether the person agrees. */
export function sure(question, yes, no = said("page.play_on")) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-label": question, class: "question", onclose: () => { dialog.remove(); resolve(dialog.returnValue === "yes"); } },
      h("p", {}, question),
      h("p", { class: "row" },
        h("button", { type: "button", onclick: () => dialog.close("no") }, no),
        h("button", { type: "button", class: "primary", onclick: () => dialog.close("yes") }, yes)));
    document.body.append(dialog);
    dialog.showModal();
  });
}
