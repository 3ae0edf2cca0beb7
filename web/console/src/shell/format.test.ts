import { expect, test } from "vitest";
import { ago, bytes, date, duration, list, messageOf, moment, plural, short } from "./format";

test("sizes", () => {
  expect(bytes(0)).toBe("0 B");
  expect(bytes(1536)).toBe("1.5 KiB");
  expect(bytes(300 * 1024 * 1024)).toBe("300 MiB");
});

test("times", () => {
  const now = Date.parse("2026-11-15T12:00:00Z");
  expect(ago("2026-11-15T11:59:40Z", now)).toBe("just now");
  expect(ago("2026-11-15T11:57:00Z", now)).toBe("3 minutes ago");
  expect(ago("2026-11-14T11:00:00Z", now)).toBe("yesterday");
  expect(ago("2026-11-17T12:00:00Z", now)).toBe("in 2 days");
  expect(ago("2026-11-22T11:59:57Z", now)).toBe("in 7 days");
  expect(ago("2026-11-09T12:00:03Z", now)).toBe("5 days ago");
  expect(ago("nonsense", now)).toBe("");
  expect(duration(0.25)).toBe("250 ms");
  expect(duration(3600)).toBe("60 min");
});

test("words", () => {
  expect(plural(1, "file")).toBe("1 file");
  expect(plural(1200, "file")).toBe("1,200 files");
  expect(short("bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku")).toBe(
    "bafkreihdw…vyku",
  );
  expect(short("short")).toBe("short");
});

test("dates", () => {
  expect(date("2026-01-01T00:00:00Z")).toBe("Jan 1, 2026");
  expect(date("soon")).toBe("soon");
  const clock = { hour: "2-digit", minute: "2-digit", hour12: false, timeZone: "UTC" } as const;
  expect(moment("2026-01-01T18:05:00Z", clock)).toBe("18:05");
  expect(moment("soon")).toBe("soon");
});

test("lists", () => {
  expect(list([])).toBe("");
  expect(list(["a", "b", "c"])).toBe("a, b, c");
  expect(list(["the start", "the exit"], "conjunction")).toBe("the start and the exit");
});

test("what went wrong", () => {
  for (const text of [
    "Failed to fetch",
    "NetworkError when attempting to fetch resource.",
    "Load failed",
  ]) {
    expect(messageOf(new TypeError(text))).toBe("The server cannot be reached.");
  }
  expect(messageOf(new TypeError("x is not a function"))).toBe("x is not a function");
  expect(messageOf(new Error("no"))).toBe("no");
  expect(messageOf("no")).toBe("no");
});
