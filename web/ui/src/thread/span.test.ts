import type { IMessage } from "@castalia/oracles-client";
import { expect, test } from "vitest";
import { Heights, most, moved, rowsOf, spanOf, type Place } from "./span";

const talk = (from: number, to: number): IMessage[] =>
  Array.from({ length: to - from }, (_, i) => ({
    id: `m${from + i}`,
    type: i % 2 ? "ai" : "human",
    content: "x".repeat((i * 37) % 900),
  }));

test("a short conversation is whole", () => {
  const messages = talk(0, 40);
  expect(spanOf(messages, new Heights(), undefined, false)).toEqual({ from: 0, to: 40 });
  expect(rowsOf(messages, new Heights(), { from: 0, to: 40 }, undefined)).toHaveLength(40);
});

test("of a long one the end is there first, and follows what is said", () => {
  expect(spanOf(talk(0, 10_000), new Heights(), undefined, false)).toEqual({
    from: 9950,
    to: 10_000,
  });
  const end: Place = { firstId: "m9950", count: 50, isEnd: true };
  expect(spanOf(talk(0, 10_005), new Heights(), end, false)).toEqual({ from: 9950, to: 10_005 });
  expect(spanOf(talk(0, 10_020), new Heights(), end, false)).toEqual({ from: 9970, to: 10_020 });
  // Who reads above keeps it.
  expect(spanOf(talk(0, 10_020), new Heights(), end, true)).toEqual({
    from: 9950,
    to: 9950 + most - 1,
  });
});

test("what is loaded before it moves no window", () => {
  const place: Place = { firstId: "m100", count: 50, isEnd: false };
  expect(spanOf(talk(100, 300), new Heights(), place, true)).toEqual({ from: 0, to: 50 });
  expect(spanOf(talk(0, 300), new Heights(), place, true)).toEqual({ from: 100, to: 150 });
});

test("wherever the reader is, what they see is there, and never more than sixty messages", () => {
  const messages = talk(0, 10_000);
  const heights = new Heights();
  const whole = heights.sum(messages, { from: 0, to: messages.length });
  let span = spanOf(messages, heights, undefined, false);
  let place: Place | undefined;
  for (let step = 0; step <= 400; step++) {
    // Back and forth, by strides that do not repeat.
    const top = (whole * ((step * 7919) % 400)) / 400;
    const seen = { top, bottom: top + 1200 };
    const next = moved(messages, heights, span, seen);
    place = next ?? place;
    span = spanOf(messages, heights, place, true);
    const rows = rowsOf(messages, heights, span, "m5000");
    expect(rows.filter((row) => "index" in row).length).toBeLessThanOrEqual(most);
    const above = heights.sum(messages, { from: 0, to: span.from });
    expect(above).toBeLessThanOrEqual(top);
    const below = above + heights.sum(messages, span);
    expect(below).toBeGreaterThanOrEqual(Math.min(whole, seen.bottom));
    // All rows together are as high as all messages.
    const room = rows.reduce(
      (sum, row) => sum + ("room" in row ? row.room : heights.of(messages[row.index] as IMessage)),
      0,
    );
    expect(room).toBe(whole);
  }
});

/** A conversation that counts how often somebody looks at one of its messages. */
function counted(count: number) {
  const looks = { count: 0 };
  const messages = talk(0, count).map(
    (message) =>
      new Proxy(message, {
        get(of, key) {
          looks.count++;
          return Reflect.get(of, key) as unknown;
        },
      }),
  );
  return { looks, messages };
}

test.each([
  ["at the end", 0.999, undefined],
  ["in the middle, with a message kept at the beginning", 0.5, "m3"],
])("a word costs as much in a conversation of 10,000 as in one of 100, %s", (_, share, kept) => {
  const cost = (count: number) => {
    const { looks, messages } = counted(count);
    const heights = new Heights();
    const top = heights.sum(messages, { from: 0, to: count }) * share;
    const seen = { top, bottom: top + 600 };
    const place = moved(messages, heights, spanOf(messages, heights, undefined, false), seen);
    const costs = [];
    for (let word = 0; word < 3; word++) {
      const next = messages.with(-1, { id: `m${count - 1}`, type: "ai", content: `${word}` });
      looks.count = 0;
      const span = spanOf(next, heights, place, share < 0.9);
      rowsOf(next, heights, span, kept);
      heights.set(`m${count - 1}`, 100 + word);
      moved(next, heights, span, seen);
      costs.push(looks.count);
    }
    return costs;
  };
  expect(cost(10_000)).toEqual(cost(100));
});

test("what is drawn otherwise than it was guessed moves what is behind it", () => {
  const messages = talk(0, 100);
  const heights = new Heights();
  const whole = heights.sum(messages, { from: 0, to: 100 });
  heights.set("m50", heights.of(messages[50] as IMessage) + 40);
  expect(heights.sum(messages, { from: 0, to: 50 })).toBeLessThan(whole - 40);
  expect(heights.sum(messages, { from: 0, to: 100 })).toBe(whole + 40);
  // Also when older messages came before it.
  const longer = [...talk(200, 230), ...messages];
  const before = heights.sum(longer, { from: 0, to: 30 });
  expect(heights.sum(longer, { from: 30, to: 130 })).toBe(whole + 40);
  expect(heights.at(longer, before + whole, false)).toBe(129);
  expect(heights.indexOf(longer, "m50")).toBe(80);
});
