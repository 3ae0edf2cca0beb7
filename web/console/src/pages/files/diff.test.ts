import { expect, test } from "vitest";
import { cutTo, diff, hunks, pairs, type Line } from "./diff";

const drawn = (lines: Line[]) =>
  lines.map(({ kind, text }) => ({ same: " ", gone: "-", new: "+" })[kind] + text);

test("lines that went and came are told from those that stayed", () => {
  expect(drawn(diff("a\nb\nc\nd\n", "a\nx\nc\nd\ne\n"))).toEqual([
    " a",
    "-b",
    "+x",
    " c",
    " d",
    "+e",
  ]);
  expect(drawn(diff("", "a\n"))).toEqual(["+a"]);
  expect(drawn(diff("a\n", ""))).toEqual(["-a"]);
  expect(drawn(diff("a\r\nb", "a\nb\n"))).toEqual([" a", " b"]);
  expect(diff("", "")).toEqual([]);
});

test("both texts can be put together from any comparison", () => {
  let seed = 7;
  const random = (n: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  const text = () => Array.from({ length: random(40) }, () => "abc"[random(3)]).join("\n");
  for (let i = 0; i < 300; i++) {
    const [before, after] = [text(), text()];
    const lines = diff(before, after);
    const side = (without: string) => lines.filter((l) => l.kind !== without).map((l) => l.text);
    expect(side("new").join("\n")).toBe(before);
    expect(side("gone").join("\n")).toBe(after);
  }
});

test("texts that have nothing in common are compared within the bound", () => {
  const many = (word: string) => Array.from({ length: 20_000 }, (_, i) => word + i).join("\n");
  expect(diff(many("a"), many("b"))).toHaveLength(40_000);
});

test("what went stands beside what came, with numbers", () => {
  const rows = pairs(diff("a\nb\nc\n", "a\nx\ny\nc\n"));
  expect(
    rows.map(({ left, right }) => [left?.before, left?.text, right?.after, right?.text]),
  ).toEqual([
    [1, "a", 1, "a"],
    [2, "b", 2, "x"],
    [undefined, undefined, 3, "y"],
    [3, "c", 4, "c"],
  ]);
});

test("what is the same far from any difference is counted", () => {
  const text = (middle: string) => [...Array(10).keys(), middle, ...Array(10).keys()].join("\n");
  expect(
    hunks(diff(text("x"), text("y")), 1).map((h) => (Array.isArray(h) ? drawn(h) : h)),
  ).toEqual([9, [" 9", "-x", "+y", " 0"], 9]);
});

test("a difference after thousands of lines that are alike is shown, and many are cut", () => {
  const text = (last: string) => `${"same\n".repeat(9000)}${last}\n`;
  const { parts, isCut } = cutTo(hunks(diff(text("before"), text("after"))), 100);
  expect(parts[0]).toBe(8997);
  expect(JSON.stringify(parts[1])).toContain("after");
  expect(isCut).toBe(false);
  const numbered = (from: number) => Array.from({ length: 200 }, (_, i) => from + i).join("\n");
  const many = cutTo(hunks(diff(numbered(0), numbered(1000))), 100);
  expect(many.isCut).toBe(true);
  expect(many.parts.flat()).toHaveLength(100);
});
