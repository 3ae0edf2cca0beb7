import { expect, test } from "vitest";
import { dropOldest } from "./bounded";

test("the oldest entries go, but for those that are needed", () => {
  const seen = new Set(["a", "b", "c", "d"]);
  dropOldest(seen, 2);
  expect([...seen]).toEqual(["c", "d"]);
  const kept = new Map([
    ["a", 1],
    ["b", 2],
    ["c", 3],
  ]);
  dropOldest(kept, 1, (key) => key === "a");
  expect([...kept.keys()]).toEqual(["a"]);
  dropOldest(kept, 0, () => true);
  expect(kept.size).toBe(1);
});
