import { expect, test } from "vitest";
import { matcher, type Shortcut } from "./shortcuts";

const list: Shortcut[] = ["g f", "g c", "?", "n"].map((keys) => ({
  keys,
  does: keys,
  run: () => undefined,
}));

test("single keys and pairs", () => {
  const match = matcher(() => 0);
  expect(match("?", list)?.keys).toBe("?");
  expect(match("g", list)).toBeUndefined();
  expect(match("f", list)?.keys).toBe("g f");
  expect(match("f", list)).toBeUndefined();
  expect(match("g", list)).toBeUndefined();
  expect(match("n", list)?.keys).toBe("n");
});

test("the second key may come too late", () => {
  let time = 0;
  const match = matcher(() => time);
  expect(match("g", list)).toBeUndefined();
  time = 5000;
  expect(match("f", list)).toBeUndefined();
});
