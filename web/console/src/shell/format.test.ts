import { expect, test } from "vitest";
import { ago, bytes, duration, plural, short } from "./format";

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
