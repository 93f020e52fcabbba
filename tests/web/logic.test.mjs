// What the pages can say without a browser: node --test tests/web
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

const source = readFileSync(new URL("../../trick_envs/play/web/static/logic.js", import.meta.url), "utf8");
const { handColumns, keyAction, layOut, linesOf, percent, strengths, strengthOf, toContinue } = await import(`data:text/javascript,${encodeURIComponent(source)}`);

const SIZES = [[540, 210], [374, 330], [374, 250], [724, 560], [980, 260], [980, 420], [740, 330], [1480, 640]];

test("open cards take as many lines as they need: a ten is wider", () => {
  assert.equal(linesOf([], 100), 0);
  assert.equal(linesOf(["3C", "8C", "9C"], 80), 1);
  assert.equal(linesOf(["3C", "8C", "10C"], 80), 2);
});

test("no cards of a trick overlap, and all of them lie on the felt, for every number of players and size", () => {
  for (const [width, height] of SIZES) {
    for (let others = 1; others <= 8; others += 1) {
      const { plates, cards, card } = layOut(width < 560, width, height, Array(others).fill(0));
      const where = `${width}x${height}, ${others + 1} players`;
      assert.equal(plates.length, others, where);
      assert.equal(cards.length, others + 1, where);
      assert.ok(card >= 22, where);
      cards.forEach(([x, y], number) => {
        assert.ok(x - card / 2 >= -1 && x + card / 2 <= width + 1, `${where}: card ${number} at ${x}`);
        assert.ok(y - 0.7 * card >= -1 && y + 0.7 * card <= height + 18, `${where}: card ${number} at ${y}`);
        for (const [otherX, otherY] of cards.slice(0, number)) {
          assert.ok(Math.abs(x - otherX) >= card - 0.5 || Math.abs(y - otherY) >= 1.4 * card - 0.5, `${where}: ${number}`);
        }
      });
      for (const plate of plates) assert.ok(plate.x >= -1 && plate.x + plate.width <= width + 1, where);
      plates.forEach((one, number) => {
        for (const other of plates.slice(0, number)) {
          const apart = Math.max(Math.abs(one.x - other.x) - one.width, Math.abs(one.y - other.y) - Math.min(one.height, other.height));
          assert.ok(apart >= -1, `${where}: plates`);
        }
      });
    }
  }
});

test("four players on a laptop have cards that can be read", () => {
  assert.ok(layOut(false, 830, 300, [0, 0, 0]).card > 70); // once 42 px, beside empty felt
  const listed = layOut(true, 534, 160, [0.2, 0.2, 0.2]);
  const shared = layOut(true, 534, 160, [0.2, 0.2, 0.2], [true, true, true]); // a low phone: two seats with few open cards in a row
  assert.ok(shared.card > 32 && shared.least < listed.least, `${shared.card} on ${shared.least}, not ${listed.least}`);
  assert.equal(shared.plates[0].y, shared.plates[1].y);
  assert.ok(shared.plates[2].y > shared.plates[1].y);
});

test("a plate is as high as its facts need, and what is below moves", () => {
  for (const narrow of [true, false]) {
    const [few, many] = [layOut(narrow, 374, 330, [0, 0, 0]), layOut(narrow, 374, 330, [0, 0, 0], [], [0, 2, 0])];
    assert.equal(many.plates[1].height - few.plates[1].height, 40);
    assert.ok(Math.min(...many.cards.map(([, y]) => y - 0.7 * many.card)) >= many.plates[1].y + many.plates[1].height, `${narrow}`);
  }
});

test("a plate at the side of a low table lies beside the one above, not over what is below", () => {
  const { plates } = layOut(false, 732, 130, [1, 0, 1], [], [1, 1, 1]);
  for (const one of plates) assert.ok(one.y >= 0 && one.y + one.height <= 130, `${one.y} ${one.height}`);
});

test("a space bar never plays a card, and no key does while a dialog is open", () => {
  assert.equal(keyAction(" ", "hand", false), "nothing");
  assert.equal(keyAction(" ", "hand", true), "go-on");
  assert.equal(keyAction(" ", "", false), "");
  for (const key of ["1", "u", "Enter", " ", "ArrowLeft"]) assert.equal(keyAction(key, "dialog", false), "");
  assert.equal(keyAction("n", "text", false), "");
  assert.equal(keyAction("1", "hand", false), "card");
  assert.equal(keyAction("R", "", false), "rules");
  assert.equal(keyAction("constructor", "", false), "");
  assert.equal(keyAction("ArrowLeft", "hand", false, true), "past-back"); // looking back
  for (const key of ["1", "Enter", "u", " "]) assert.equal(keyAction(key, "hand", false, true), "");
});

test("strengths have words, and untrained games have no trained ones", () => {
  assert.equal(strengthOf("pretrained"), "strong");
  assert.equal(strengthOf("ismcts:77"), "ismcts:77");
  assert.equal(strengthOf("runs/mine/first/policy.onnx"), "first/policy.onnx");
  assert.equal(strengthOf(`${"x".repeat(120)}.onnx`), `${"x".repeat(35)}.onnx`);
  assert.deepEqual(strengths(false).map(([word]) => word), ["beginner", "casual", "good"]);
});

test("of the games that can go on, the latest of each kind is offered", () => {
  const games = [{ game: "pepper", id: "a", over: true }, { game: "pepper", id: "o", old: true }, { game: "pepper", id: "b" }, { game: "pepper", id: "c" }, { game: "hearts", id: "d" }];
  assert.deepEqual(Object.entries(toContinue(games)).map(([name, one]) => name + one.id), ["pepperb", "heartsd"]);
});

test("a hand on a phone has as few rows as leave the cards wide", () => {
  assert.equal(handColumns(13, 374, 52), 7);
  assert.equal(handColumns(4, 374, 52), 5);
  assert.equal(handColumns(13, 752, 84), 7); // on a tablet, too
});

test("a card's figure says of a probability what the words of its hint say", () => { // once 100 % beside >99 %
  assert.deepEqual([0, 0.004, 0.006, 0.5, 0.994, 0.996, 1].map(percent), ["0 %", "<1 %", "1 %", "50 %", "99 %", ">99 %", "100 %"]);
});
