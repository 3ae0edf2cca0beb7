import { expect, test } from "vitest";
import { parse, parts } from "./message";

function said(text: string, values: Record<string, string | number> = {}, locale = "en"): string {
  return parts<string>(
    parse(text),
    locale,
    (name) => values[name],
    (name, inside) => `[${name}:${inside.join("")}]`,
  ).join("");
}

test("values have their places, numbers as the language writes them", () => {
  expect(said("Delete {name}?", { name: "a {b} <c>" })).toBe("Delete a {b} <c>?");
  expect(said("{n} of {of}", { n: 1200, of: "1200" })).toBe("1,200 of 1200");
  expect(said("{n}", { n: 1200 }, "fr")).toBe("1\u202f200");
  expect(said("{missing}")).toBe("{missing}");
});

test("plural forms are the language's own", () => {
  const files = "{n, plural, =0 {no files} one {# file} other {# files}} in # {place}";
  expect(said(files, { n: 0, place: "x" })).toBe("no files in # x");
  expect(said(files, { n: 1, place: "x" })).toBe("1 file in # x");
  expect(said(files, { n: 2000, place: "x" })).toBe("2,000 files in # x");
  const arabic = "{n, plural, zero {0} one {1} two {2} few {3} many {11} other {100}}";
  expect([0, 1, 2, 3, 11, 100].map((n) => said(arabic, { n }, "ar"))).toEqual([
    "0",
    "1",
    "2",
    "3",
    "11",
    "100",
  ]);
  expect(said("{n, plural, one {un} other {des}}", { n: 0 }, "fr")).toBe("un");
});

test("a choice keeps what is around it, also within a plural form", () => {
  const text = "{n, plural, other {# {kind, select, folder {folders (#)} other {files}}}}";
  expect(said(text, { n: 3, kind: "folder" })).toBe("3 folders (3)");
  expect(said(text, { n: 3, kind: "unheard of" })).toBe("3 files");
});

test("tags hold what is marked", () => {
  expect(said("See <link>the <b>{what}</b></link>, 1 < 2.", { what: "guide" })).toBe(
    "See [link:the [b:guide]], 1 < 2.",
  );
});

test.each([
  "{",
  "}",
  "{a",
  "a}",
  "{a b}",
  "<b>x",
  "x</b>",
  "<b>x</i>",
  "{n, plural, one {x}}",
  "{n, plural, other {x}",
  "{n, number}",
  "{n, plural, other x}",
])("%s is refused", (text) => {
  expect(() => parse(text)).toThrow("not well formed");
});
