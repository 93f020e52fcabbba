// Soft sounds, made here: off until they are switched on, then remembered in this browser.

import { $ } from "./lib.js";
import { local } from "./store.js";

export const sound = {
  on: local.getItem("sound") === "yes",
  context: null,
  last: 0, // when a card was last heard
};

/** The notes of each sound: frequency in Hz, when it begins, how long it lasts, in seconds. */
const NOTES = {
  trick: [[392, 0, 0.16], [523, 0.09, 0.22]],
  turn: [[659, 0, 0.14]],
  win: [[523, 0, 0.2], [659, 0.13, 0.2], [784, 0.26, 0.2], [1047, 0.39, 0.5]],
};

/** Browsers let a page be heard only after a click or a key. */
function wakeSound() {
  if (!sound.on) return;
  sound.context ??= new AudioContext();
  if (sound.context.state === "suspended") sound.context.resume();
}

/** Lets "card", "trick", "turn" or "win" be heard. */
export function hear(name) {
  const { context } = sound;
  if (!sound.on || context?.state !== "running") return;
  const now = context.currentTime;
  if (name === "card") {
    if (now - sound.last < 0.06) return; // several at once would be one loud noise
    sound.last = now;
    tap(context, now);
  } else for (const [frequency, after, length] of NOTES[name]) tone(context, frequency, now + after, length);
}

/** A note that begins softly and fades. */
function tone(context, frequency, start, length) {
  const [oscillator, volume] = [new OscillatorNode(context, { type: "triangle", frequency }), new GainNode(context, { gain: 0 })];
  volume.gain.setValueAtTime(0, start);
  volume.gain.linearRampToValueAtTime(0.07, start + 0.02);
  volume.gain.exponentialRampToValueAtTime(0.0005, start + length);
  oscillator.connect(volume).connect(context.destination);
  oscillator.start(start);
  oscillator.stop(start + length);
}

/** A card on a table: a short noise without high tones. */
function tap(context, start) {
  const buffer = context.createBuffer(1, Math.round(0.05 * context.sampleRate), context.sampleRate);
  const samples = buffer.getChannelData(0);
  for (let i = 0; i < samples.length; i += 1) samples[i] = (2 * Math.random() - 1) * (1 - i / samples.length) ** 3;
  const source = new AudioBufferSourceNode(context, { buffer });
  source.connect(new BiquadFilterNode(context, { type: "lowpass", frequency: 1400 })).connect(new GainNode(context, { gain: 0.16 })).connect(context.destination);
  source.start(start);
}

export function toggleSound() {
  sound.on = !sound.on;
  local.setItem("sound", sound.on ? "yes" : "no");
  $("sound").ariaPressed = sound.on;
  wakeSound();
}

for (const gesture of ["pointerdown", "keydown"]) document.addEventListener(gesture, wakeSound, true);
$("sound").addEventListener("click", toggleSound);
$("sound").ariaPressed = sound.on;
