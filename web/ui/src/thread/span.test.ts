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
  expect(spanOf(messages, undefined, false)).toEqual({ from: 0, to: 40 });
  expect(rowsOf(messages, new Heights(), { from: 0, to: 40 }, undefined)).toHaveLength(40);
});

test("of a long one the end is there first, and follows what is said", () => {
  expect(spanOf(talk(0, 10_000), undefined, false)).toEqual({ from: 9950, to: 10_000 });
  const end: Place = { firstId: "m9950", count: 50, isEnd: true };
  expect(spanOf(talk(0, 10_005), end, false)).toEqual({ from: 9950, to: 10_005 });
  expect(spanOf(talk(0, 10_020), end, false)).toEqual({ from: 9970, to: 10_020 });
  // Who reads above keeps it.
  expect(spanOf(talk(0, 10_020), end, true)).toEqual({ from: 9950, to: 9950 + most - 1 });
});

test("what is loaded before it moves no window", () => {
  const place: Place = { firstId: "m100", count: 50, isEnd: false };
  expect(spanOf(talk(100, 300), place, true)).toEqual({ from: 0, to: 50 });
  expect(spanOf(talk(0, 300), place, true)).toEqual({ from: 100, to: 150 });
});

test("wherever the reader is, what they see is there, and never more than sixty messages", () => {
  const messages = talk(0, 10_000);
  const heights = new Heights();
  const whole = heights.sum(messages, { from: 0, to: messages.length });
  let span = spanOf(messages, undefined, false);
  let place: Place | undefined;
  for (let step = 0; step <= 400; step++) {
    // Back and forth, by strides that do not repeat.
    const top = (whole * ((step * 7919) % 400)) / 400;
    const seen = { top, bottom: top + 1200 };
    const next = moved(messages, heights, span, seen);
    place = next ?? place;
    span = spanOf(messages, place, true);
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
