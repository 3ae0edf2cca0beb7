import { expect, test } from "vitest";
import type { TreeNode } from "./api";
import { activeIndex, nothing, pick, pickAll, picked, typedAhead } from "./selection";

const list = ["alpha", "beta", "beet", "gamma"].map((name): TreeNode => ({
  path: `/${name}`,
  name,
  type: name === "alpha" ? "folder" : "file",
}));
const names = (s: typeof nothing) => picked(s, list).map((n) => n.name);

test("a range goes from the anchor to where the focus is, both ways", () => {
  const one = pick(nothing, list, 1, "only");
  expect(names(one)).toEqual(["beta"]);
  const down = pick(one, list, 3, "extend");
  expect(names(down)).toEqual(["beta", "beet", "gamma"]);
  expect(names(pick(down, list, 0, "extend"))).toEqual(["alpha", "beta"]);
  expect(names(pick(nothing, list, 2, "extend"))).toEqual(["beet"]);
  // Who came by the tabulator has chosen nothing yet, and begins where the focus is.
  const walked = pick(nothing, list, 1, "walk");
  const two = pick(walked, list, 2, "extend");
  expect(names(two)).toEqual(["beta", "beet"]);
  expect(names(pick(two, list, 0, "extend"))).toEqual(["alpha", "beta"]);
  // Where the anchor is gone, so does whoever goes on.
  expect(names(pick({ ...one, anchor: "/gone" }, list, 2, "extend"))).toEqual(["beta", "beet"]);
});

test("the focus walks without choosing, and one more is chosen or not", () => {
  const walked = pick(pick(nothing, list, 0, "only"), list, 2, "walk");
  expect([walked.active, names(walked)]).toEqual(["/beet", ["alpha"]]);
  const two = pick(walked, list, 2, "toggle");
  expect(names(two)).toEqual(["alpha", "beet"]);
  expect(names(pick(two, list, 0, "toggle"))).toEqual(["beet"]);
  expect(names(pickAll(two, list))).toHaveLength(4);
});

test("the focus stays at its row, or at the place of one that is gone", () => {
  const last = pick(nothing, list, 3, "only");
  expect(activeIndex(last, list)).toBe(3);
  expect(activeIndex(last, list.slice(1))).toBe(2);
  expect(activeIndex(last, list.slice(0, 2))).toBe(1);
  expect(activeIndex(last, [])).toBe(-1);
});

test("letters find names: one letter goes on to the next, more narrow it down", () => {
  expect(typedAhead(list, 0, "b")).toBe(1);
  expect(typedAhead(list, 1, "b")).toBe(2);
  expect(typedAhead(list, 2, "b")).toBe(1);
  expect(typedAhead(list, 1, "bee")).toBe(2);
  expect(typedAhead(list, 0, "x")).toBe(-1);
  expect(typedAhead(list, 1, "bb")).toBe(2);
  expect(typedAhead(list, 2, "bbb")).toBe(1);
});
