import { expect, test } from "vitest";
import { parseBlocks, parseInline } from "./parse";

const kinds = (text: string) => parseBlocks(text).map((b) => b.kind);

test("blocks", () => {
  expect(
    kinds("# A\n\ntext\nmore\n- a\n- b\n\n> q\n\n---\n\n```go\nx\n```\n\n|a|b|\n|-|-|\n|1|2|\n"),
  ).toEqual(["heading", "text", "list", "quote", "rule", "code", "table"]);
});

test("a block that is still being written is a block already", () => {
  expect(parseBlocks("```js\nlet a")).toMatchObject([{ kind: "code", text: "let a" }]);
  expect(kinds("| a | b |\n|")).toEqual(["text"]);
});

test("blocks before the last keep their source while the text grows", () => {
  const before = parseBlocks("one\n\ntwo\n\nthr");
  const after = parseBlocks("one\n\ntwo\n\nthree");
  expect(after.slice(0, 2).map((b) => b.source)).toEqual(before.slice(0, 2).map((b) => b.source));
});

test("indented lines are code, unless they belong to a paragraph or a list", () => {
  expect(parseBlocks("a:\n\n    one\n      two\n\n    three\n\nb")).toMatchObject([
    { kind: "text" },
    { kind: "code", text: "one\n  two\n\nthree" },
    { kind: "text", text: "b" },
  ]);
  expect(kinds("para\n    goes on")).toEqual(["text"]);
  expect(kinds("- item\n    goes on")).toEqual(["list"]);
});

test("lists nest and keep their numbers", () => {
  expect(parseBlocks("3. a\n   - b\n   - c\n4. d")).toMatchObject([
    {
      kind: "list",
      ordered: true,
      start: 3,
      items: [{ text: "a", inner: { items: [{ text: "b" }, { text: "c" }] } }, { text: "d" }],
    },
  ]);
});

test("rows have as many cells as the head", () => {
  expect(parseBlocks("a | b\n--|--\n1\n2 | 3 | 4 | x")).toMatchObject([
    { kind: "table", head: ["a", "b"], rows: [] },
    { kind: "text" },
  ]);
  expect(parseBlocks("a | b\n--|--\n2 | 3 | 4")).toMatchObject([{ rows: [["2", "3"]] }]);
  expect(parseBlocks("|a|b|c|d|\n|:--|--:|:-:|\n")).toMatchObject([
    { align: ["left", "right", "centre", "left"] },
  ]);
});

test("links lead somewhere and do nothing else", () => {
  const hrefs = (text: string) =>
    parseInline(text).flatMap((p) => (p.kind === "link" ? [p.href] : []));
  expect(hrefs("[a](https://a.example) [b](/docs) https://b.example/x.")).toEqual([
    "https://a.example",
    "/docs",
    "https://b.example/x",
  ]);
  for (const bad of ["javascript:alert(1)", "data:text/html,x", "//evil.example", "vbscript:x"]) {
    expect(hrefs(`[a](${bad})`)).toEqual([]);
  }
});

test("markup in a text stays text", () => {
  expect(parseInline("<img src=x onerror=alert(1)>")).toEqual([
    { kind: "text", text: "<img src=x onerror=alert(1)>" },
  ]);
  expect(parseInline("**bold** and `code` and snake_case_name")).toMatchObject([
    { kind: "strong", text: "bold" },
    { kind: "text" },
    { kind: "code", text: "code" },
    { kind: "text", text: " and snake_case_name" },
  ]);
});
