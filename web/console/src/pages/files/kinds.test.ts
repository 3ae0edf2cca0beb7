import { expect, test } from "vitest";
import { kindOf } from "./kinds";

test.each([
  ["image/png", "a.png", "image"],
  ["image/svg+xml", "a.svg", "text"],
  ["text/html; charset=utf-8", "a.html", "text"],
  ["text/csv", "a.csv", "table"],
  ["application/octet-stream", "main.go", "text"],
  ["application/octet-stream", "main.bin", undefined],
  ["application/pdf", "a.pdf", "pdf"],
  ["application/pdf", "a.png", "pdf"],
  ["audio/mpeg", "a.mp3", "audio"],
  ["video/mp4", "a.mp4", "video"],
  ["", "prices.xlsx", "document"],
  ["application/zip", "a.zip", undefined],
])("%s called %s is shown as %s", (type, name, kind) => {
  expect(kindOf(type, 10, name)).toBe(kind);
});

test("what is loaded whole has a limit, and of texts the beginning is shown", () => {
  expect(kindOf("image/png", 1e9)).toBeUndefined();
  expect(kindOf("text/plain", 1e9)).toBe("text");
});
