// @vitest-environment jsdom
import { cleanup, fireEvent, render } from "@testing-library/react";
import { act } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { useScroll } from "./useScroll";

/** Tells every watch that something has another size, as a browser does after it laid out a page. */
let resize = () => {};
beforeEach(() => {
  const watches = new Set<() => void>();
  resize = () => act(() => watches.forEach((told) => told()));
  vi.stubGlobal(
    "ResizeObserver",
    class {
      constructor(private readonly told: () => void) {}
      observe() {
        watches.add(this.told);
      }
      disconnect() {
        watches.delete(this.told);
      }
    },
  );
});
afterEach(cleanup);

function Log() {
  const { log, content, list, isAway } = useScroll([], false, false);
  return (
    <div ref={log} data-testid="log" data-away={isAway}>
      <div ref={content}>
        <div ref={list} />
      </div>
    </div>
  );
}

/** A log of such a size, read to its end. */
function read() {
  const log = render(<Log />).getByTestId("log");
  const box = { scrollHeight: 500, clientHeight: 300, scrollTop: 200 };
  const set = (more: Partial<typeof box>) => {
    Object.assign(box, more);
    for (const name of ["scrollHeight", "clientHeight"] as const)
      Object.defineProperty(log, name, { value: box[name], configurable: true });
  };
  set({});
  resize();
  log.scrollTop = 200;
  fireEvent.scroll(log);
  return { log, set };
}

test.each([
  ["a window gets lower, as when a keyboard opens", { clientHeight: 180 }],
  ["a chart in it grows", { scrollHeight: 700 }],
])("an event of an earlier scroll does not lose the end when %s", (_, size) => {
  const { log, set } = read();
  set(size);
  fireEvent.scroll(log);
  resize();
  expect(log.dataset["away"]).toBe("false");
  expect(log.scrollTop).toBe("scrollHeight" in size ? size.scrollHeight : 500);
});

test("who scrolls up stays there, whatever grows", () => {
  const { log, set } = read();
  log.scrollTop = 20;
  fireEvent.scroll(log);
  set({ scrollHeight: 700 });
  resize();
  expect(log.dataset["away"]).toBe("true");
  expect(log.scrollTop).toBe(20);
});
