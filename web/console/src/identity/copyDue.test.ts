// @vitest-environment jsdom
import { beforeEach, expect, test } from "vitest";
import { askForCopyIn, isCopyDue } from "./copyDue";

const day = 86_400_000;
const now = Date.UTC(2026, 10, 19);

beforeEach(() => localStorage.clear());

test("a copy is asked for a day after the key was made, and then in a week", () => {
  askForCopyIn(1, now);
  expect(isCopyDue(now)).toBe(false);
  expect(isCopyDue(now + day - 1)).toBe(false);
  expect(isCopyDue(now + day)).toBe(true);
  askForCopyIn(7, now + day);
  expect(isCopyDue(now + 7 * day)).toBe(false);
  expect(isCopyDue(now + 8 * day)).toBe(true);
});

test.each([undefined, "nonsense", "0"])("with %j remembered, it is asked for in a day", (kept) => {
  if (kept !== undefined) localStorage.setItem("castalia-copy-asked-next", kept);
  expect(isCopyDue(now)).toBe(false);
  expect(isCopyDue(now + day)).toBe(true);
});
