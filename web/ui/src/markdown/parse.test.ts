import { expect, test } from "vitest";
import { deepest, longestLink, searchable } from "./lexer";
import { longest, parseBlocks, type Block, type Inline } from "./parse";

const kinds = (text: string) => parseBlocks(text).map((b) => b.kind);

/** The spans of a text that is one paragraph. */
function spans(text: string): Inline[] {
  const [block] = parseBlocks(text);
  if (block?.kind !== "text") throw new Error(`this is no paragraph: ${text}`);
  return block.inline;
}

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

test("a line below a text is a line, and not a sign that the text was a heading", () => {
  expect(kinds("text\n---\nmore")).toEqual(["text", "rule", "text"]);
});

test("indented lines are code, unless they belong to a paragraph or a list", () => {
  expect(parseBlocks("a:\n\n    one\n      two\n\n    three\n\nb")).toMatchObject([
    { kind: "text" },
    { kind: "code", text: "one\n  two\n\nthree" },
    { kind: "text", inline: [{ text: "b" }] },
  ]);
  expect(kinds("para\n    goes on")).toEqual(["text"]);
  expect(kinds("- item\n    goes on")).toEqual(["list"]);
});

test("lists nest and keep their numbers", () => {
  const item = (text: string) => ({ blocks: [{ kind: "text", inline: [{ text }] }] });
  expect(parseBlocks("3. a\n   - b\n   - c\n4. d")).toMatchObject([
    {
      kind: "list",
      ordered: true,
      start: 3,
      items: [
        { blocks: [{ kind: "text" }, { kind: "list", items: [item("b"), item("c")] }] },
        item("d"),
      ],
    },
  ]);
  expect(parseBlocks("- [x] a\n- [ ] b\n- c")).toMatchObject([
    { items: [{ checked: true }, { checked: false }, item("c")] },
  ]);
});

test("a fence in a list is code of its item", () => {
  expect(parseBlocks("1. do:\n   ```sh\n   make\n   ```\n2. done")).toMatchObject([
    {
      kind: "list",
      items: [
        { blocks: [{ kind: "text" }, { kind: "code", language: "sh", text: "make" }] },
        { blocks: [{ kind: "text" }] },
      ],
    },
  ]);
});

test("rows have as many cells as the head, and an escaped line is no border", () => {
  expect(parseBlocks("a | b\n--|--\n2 | 3 | 4")).toMatchObject([
    { rows: [[[{ text: "2" }], [{ text: "3" }]]] },
  ]);
  expect(parseBlocks("a | b\n--|--\nx \\| y | `p \\| q`")).toMatchObject([
    { rows: [[[{ text: "x | y" }], [{ kind: "code", text: "p | q" }]]] },
  ]);
  expect(parseBlocks("|a|b|c|d|\n|:--|--:|:-:|-|\n")).toMatchObject([
    { align: ["left", "right", "centre", "left"] },
  ]);
});

function hrefs(text: string): string[] {
  return spans(text).flatMap((p) => (p.kind === "link" ? [p.href] : []));
}

test("links lead somewhere and do nothing else", () => {
  expect(
    hrefs("[a](https://a.example) [b](/docs) [c](#d) [e](mailto:f@g.example) https://b.example/x."),
  ).toEqual(["https://a.example", "/docs", "#d", "mailto:f@g.example", "https://b.example/x"]);
  for (const bad of [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "//evil.example",
    "/\\evil.example",
    "</\t/evil.example>",
    "<java\tscript:alert(1)>",
    "&#106;avascript:alert(1)",
    "relative",
  ]) {
    expect(hrefs(`[a](${bad})`), bad).toEqual([]);
    expect(hrefs(`![a](${bad})`), bad).toEqual([]);
    expect(hrefs(`<${bad}>`), bad).toEqual([]);
  }
});

test("a link whose words name another place says where it leads", () => {
  const leads = (text: string) => spans(text).flatMap((p) => (p.kind === "link" ? [p.leads] : []));
  for (const [text, where] of [
    ["[https://bank.example](https://evil.example/)", "evil.example"],
    ["[Log in at bank.example now](https://evil.example/x)", "evil.example"],
    ["[**bank**.example](https://evil.example/)", "evil.example"],
    ["[ba\u00adnk.exa\u200bmple](https://evil.example/)", "evil.example"],
    ["[ｂａｎｋ．example](https://evil.example/)", "evil.example"],
    ["[bank。example](https://evil.example/)", "evil.example"],
    ["[10.0.0.1](https://evil.example/)", "evil.example"],
    ["[bank.example](https://bank.example@evil.example/)", "evil.example"],
    ["[bank.example](https://bank.example.evil.example/)", "bank.example.evil.example"],
    ["[evilbank.example](https://bank.example/)", "bank.example"],
    ["[bank.example](mailto:a@evil.example)", "evil.example"],
    ["[bank.example](/console/link)", "/console/link"],
    ["https://bank.example@evil.example/", "evil.example"],
    ["![bank.example](https://evil.example/x.png)", "evil.example"],
  ] as const) {
    expect(leads(text), text).toEqual([where]);
  }
  for (const text of [
    "[the bank](https://bank.example/)",
    "[bank.example](https://bank.example/a/b.html)",
    "[bank.example](https://www.bank.example/)",
    "[BÜCHER.example](https://xn--bcher-kva.example/)",
    "https://bank.example/a/b.html?x=evil.example",
    "[write to a@bank.example](mailto:a@bank.example?subject=x)",
    "[version 1.2, e.g. this](/docs)",
  ]) {
    expect(leads(text), text).toEqual([undefined]);
  }
});

test("an address may hold brackets, and the sentence around it is no part of it", () => {
  expect(hrefs("see [a](https://a.example/b_(c)) (or https://a.example/b_(c)).")).toEqual([
    "https://a.example/b_(c)",
    "https://a.example/b_(c)",
  ]);
  expect(hrefs("https://a.example/?q=1&b=2, https:// and http")).toEqual([
    "https://a.example/?q=1&b=2",
  ]);
});

test("a picture is a link to it: nothing is fetched", () => {
  expect(spans("![A spring](https://a.example/x.png)")).toEqual([
    { kind: "link", href: "https://a.example/x.png", inline: [{ kind: "text", text: "A spring" }] },
  ]);
});

test("markup in a text stays text", () => {
  for (const html of [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "<div>\na",
    "<!-- a -->",
    "a <b>c</b>",
  ]) {
    expect(parseBlocks(html)).toMatchObject([{ inline: [{ kind: "text", text: html }] }]);
  }
});

test("spans", () => {
  expect(spans("**bold *deep***, `code`, ~~gone~~, snake_case_name &amp; &lt;b&gt;")).toMatchObject(
    [
      { kind: "strong", inline: [{ text: "bold " }, { kind: "em", inline: [{ text: "deep" }] }] },
      { text: ", " },
      { kind: "code", text: "code" },
      { text: ", " },
      { kind: "struck", inline: [{ text: "gone" }] },
      { text: ", snake_case_name & <b>" },
    ],
  );
  expect(spans("a  \nb \\* c")).toMatchObject([
    { text: "a" },
    { kind: "break" },
    { text: "b " },
    { text: "*" },
    { text: " c" },
  ]);
});

/** Texts of about n characters that make some reader of Markdown slow. */
const hostile: Record<string, (n: number) => string> = {
  "blanks in a heading": (n) => `# a${" ".repeat(n)}b`,
  "blanks in a text": (n) => `a${" ".repeat(n)}b`,
  "blanks in a cell": (n) => `| a${" ".repeat(n)}b |\n|-|\n`,
  "blanks in a delimiter row": (n) => `a|b\n${" ".repeat(n)}x`,
  "empty lines": (n) => `- a${"\n".repeat(n)}b`,
  tabs: (n) => `# a${"\t".repeat(n)}b`,
  stars: (n) => "*".repeat(n),
  "open emphasis": (n) => "*a ".repeat(n / 3),
  "open strong and emphasis": (n) => "**a *b ".repeat(n / 7),
  "mixed emphasis": (n) => "*a_".repeat(n / 3),
  "nested emphasis": (n) => "**a ".repeat(n / 8) + "a** ".repeat(n / 8),
  "stars around a letter": (n) => "*".repeat(n / 2) + "a" + "*".repeat(n / 2),
  underscores: (n) => "_a ".repeat(n / 3),
  tildes: (n) => "~~a ".repeat(n / 4),
  brackets: (n) => "[".repeat(n),
  "nested brackets": (n) => "[".repeat(n / 2) + "]".repeat(n / 2),
  "open links": (n) => "[a](b".repeat(n / 5),
  "open titles": (n) => '[a](b "'.repeat(n / 7),
  "open pictures": (n) => "![a](b".repeat(n / 6),
  "brackets in an address": (n) => `[a](${"(".repeat(n)}`,
  definitions: (n) => "[a]: b\n".repeat(n / 7),
  backslashes: (n) => "\\".repeat(n),
  backticks: (n) => "`a".repeat(n / 2),
  "growing backticks": (n) =>
    Array.from({ length: Math.sqrt(n) }, (_, i) => "`".repeat(i)).join("a"),
  fences: (n) => "```\n~~~\n".repeat(n / 8),
  "fences in lists": (n) => "- ```\n".repeat(n / 6),
  "open tags": (n) => "<a b=".repeat(n / 5),
  comments: (n) => `x ${"<!--a ".repeat(n / 6)}`,
  instructions: (n) => `x ${"<?a ".repeat(n / 4)}`,
  addresses: (n) => "http://a".repeat(n / 8),
  "a long address": (n) => `http://a${")".repeat(n)}`,
  "a long name": (n) => `${"a".repeat(n)}@`,
  names: (n) => `${"a.".repeat(n / 2)}@`,
  quotes: (n) => ">".repeat(n) + "a",
  "quotes in lists": (n) => "- > ".repeat(n / 4) + "a",
  lists: (n) => "- ".repeat(n / 2) + "a",
  "lists below lists": (n) =>
    Array.from({ length: Math.sqrt(n) }, (_, i) => `${"  ".repeat(i)}- a`).join("\n"),
  items: (n) => "- a\n".repeat(n / 4),
  "lazy lines of an item": (n) => `- a\n${"b\n".repeat(n / 2)}`,
  "lines below a text": (n) => `${"a\n".repeat(n / 2)}=`,
  columns: (n) => `${"|a".repeat(n / 4)}|\n${"|-".repeat(n / 4)}|\n`,
  rows: (n) => `a|b\n-|-\n${"x\n".repeat(n / 2)}`,
  tables: (n) => "a|b\n-|-\n\n".repeat(n / 9),
};

/** How often a pattern is tried on a text. */
function tries(text: string): number {
  const { exec } = RegExp.prototype;
  let count = 0;
  RegExp.prototype.exec = function (...args) {
    count++;
    return exec.apply(this, args);
  };
  try {
    parseBlocks(text);
  } finally {
    RegExp.prototype.exec = exec;
  }
  return count;
}

function depthOf(blocks: Block[]): number {
  return Math.max(
    0,
    ...blocks.map((b) =>
      b.kind === "quote"
        ? 1 + depthOf(b.blocks)
        : b.kind === "list"
          ? 1 + Math.max(...b.items.map((i) => depthOf(i.blocks)))
          : 0,
    ),
  );
}

// A reader that goes over its text once for each mark in it takes minutes for
// these, and the limit of a test stops it.
test.each(Object.entries(hostile))("%s: the work grows with the text", (_, make) => {
  const small = tries(make(4000));
  const large = tries(make(8000));
  expect(large).toBeLessThan(2.5 * small + 200);
  const blocks = parseBlocks(make(longest - 10));
  expect(depthOf(blocks)).toBeLessThanOrEqual(deepest);
});

// The pattern of a link goes on to the end of its text, again for every bracket.
test("a link is looked for within bounds", () => {
  const link = (n: number) => `[a](/${"x".repeat(n)})`;
  expect(hrefs(link(1900))).toHaveLength(1);
  expect(hrefs(link(longestLink))).toEqual([]);
});

test("emphasis is given up when its search was long enough", () => {
  const isEmphasised = (text: string) => JSON.stringify(parseBlocks(text)).includes('"em"');
  const used = "*a ".repeat(Math.sqrt(searchable));
  expect(isEmphasised(`${used.slice(0, 300)}\n\n*b*`)).toBe(true);
  expect(isEmphasised(`${used}\n\n*b*`)).toBe(false);
});

test("a text beyond the limit is shown whole", () => {
  const blocks = parseBlocks(`${"**a**\n".repeat(longest / 6)}**tail**`);
  expect(blocks.at(-1)).toMatchObject({ kind: "text" });
  expect(blocks.map((b) => b.source).join("")).toContain("**tail**");
});
