// @vitest-environment jsdom
import { renderHook } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { matcher, useShortcuts, type Shortcut } from "./shortcuts";

const list: Shortcut[] = ["g f", "g c", "?", "n"].map((keys) => ({
  keys,
  does: keys,
  run: () => undefined,
}));

test("single keys and pairs", () => {
  const match = matcher();
  expect(match("?", 0, list)?.keys).toBe("?");
  expect(match("g", 0, list)).toBeUndefined();
  expect(match("f", 0, list)?.keys).toBe("g f");
  expect(match("f", 0, list)).toBeUndefined();
  expect(match("g", 0, list)).toBeUndefined();
  expect(match("n", 0, list)?.keys).toBe("n");
});

test("the second key may come too late", () => {
  const match = matcher();
  expect(match("g", 0, list)).toBeUndefined();
  expect(match("f", 5000, list)).toBeUndefined();
});

test("a key waits for its second one while the shortcuts change", () => {
  const went = vi.fn<() => void>();
  const offered = (): Shortcut[] => [{ keys: "g f", does: "files", run: went }];
  const { rerender, unmount } = renderHook(useShortcuts, { initialProps: offered() });
  const press = (key: string) => window.dispatchEvent(new KeyboardEvent("keydown", { key }));
  press("g");
  rerender(offered());
  press("f");
  expect(went).toHaveBeenCalledTimes(1);
  unmount();
});
