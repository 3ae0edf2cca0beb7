/** A small reader of Markdown: data in, data out, nothing that can run. */

export type Block = { source: string } & (
  | { kind: "text"; text: string }
  | { kind: "heading"; level: number; text: string }
  | { kind: "code"; language: string; text: string }
  | { kind: "list"; ordered: boolean; start: number; items: Item[] }
  | { kind: "quote"; text: string }
  | { kind: "table"; head: string[]; rows: string[][]; align: Align[] }
  | { kind: "rule" }
);

/** How a column of a table stands. */
export type Align = "left" | "right" | "centre";

export interface Item {
  text: string;
  inner?: Block;
}

const fence = /^ {0,3}(```+|~~~+)\s*([\w+-]*)/;
const heading = /^(#{1,6})\s+(.*?)\s*#*$/;
const bullet = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const rule = /^ {0,3}([-*_])(\s*\1){2,}\s*$/;
const indented = /^(?: {4}|\t)(?=\s*\S)/;
const divider = /^\s*\|?\s*:?-{1,}:?\s*(\|\s*:?-{1,}:?\s*)*\|?\s*$/;

/** Splits a text into blocks. An unfinished block at the end is a block already. */
export function parseBlocks(text: string): Block[] {
  const lines = text.split("\n");
  const out: Block[] = [];
  let i = 0;
  const line = (n: number) => lines[n] ?? "";
  const begins = (n: number) =>
    fence.test(line(n)) ||
    heading.test(line(n)) ||
    bullet.test(line(n)) ||
    rule.test(line(n)) ||
    line(n).startsWith(">") ||
    (line(n).includes("|") && divider.test(line(n + 1)) && line(n + 1).includes("-"));
  while (i < lines.length) {
    const from = i;
    const add = (block: object) =>
      out.push({ ...block, source: lines.slice(from, i).join("\n") } as Block);
    if (line(i).trim() === "") {
      i++;
      continue;
    }
    const opened = fence.exec(line(i));
    if (opened?.[1]) {
      const close = opened[1];
      i++;
      while (i < lines.length && !line(i).trimStart().startsWith(close)) i++;
      const body = lines.slice(from + 1, i).join("\n");
      i++;
      add({ kind: "code", language: opened[2] ?? "", text: body });
      continue;
    }
    const titled = heading.exec(line(i));
    if (titled) {
      i++;
      add({ kind: "heading", level: titled[1]?.length ?? 1, text: titled[2] ?? "" });
      continue;
    }
    if (indented.test(line(i))) {
      while (i < lines.length && (indented.test(line(i)) || line(i).trim() === "")) i++;
      const body = lines.slice(from, i).map((l) => l.replace(/^(?: {4}|\t)/, ""));
      add({ kind: "code", language: "", text: body.join("\n").trimEnd() });
      continue;
    }
    if (rule.test(line(i))) {
      i++;
      add({ kind: "rule" });
      continue;
    }
    if (line(i).startsWith(">")) {
      while (i < lines.length && line(i).startsWith(">")) i++;
      const quoted = lines.slice(from, i).map((l) => l.replace(/^>\s?/, ""));
      add({ kind: "quote", text: quoted.join("\n") });
      continue;
    }
    if (bullet.test(line(i))) {
      while (i < lines.length && (bullet.test(line(i)) || /^\s{2,}\S/.test(line(i)))) i++;
      add(list(lines.slice(from, i)));
      continue;
    }
    if (line(i).includes("|") && divider.test(line(i + 1)) && line(i + 1).includes("-")) {
      i += 2;
      while (i < lines.length && line(i).includes("|")) i++;
      const head = cells(line(from));
      const rows = lines.slice(from + 2, i).map((row) => {
        const got = cells(row);
        return head.map((_, n) => got[n] ?? "");
      });
      const marks = cells(line(from + 1));
      add({ kind: "table", head, rows, align: head.map((_, n) => align(marks[n] ?? "")) });
      continue;
    }
    i++;
    while (i < lines.length && line(i).trim() !== "" && !begins(i)) i++;
    add({ kind: "text", text: lines.slice(from, i).join("\n") });
  }
  return out;
}

function cells(row: string): string[] {
  return row
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((cell) => cell.trim());
}

function align(mark: string): Align {
  if (!mark.endsWith(":")) return "left";
  return mark.startsWith(":") ? "centre" : "right";
}

/** A list with at most one level below each item; deeper ones are flattened. */
function list(lines: string[]): object {
  const first = bullet.exec(lines[0] ?? "");
  const indent = first?.[1]?.length ?? 0;
  const ordered = /\d/.test(first?.[2] ?? "");
  const items: { text: string; below: string[] }[] = [];
  for (const line of lines) {
    const match = bullet.exec(line);
    const last = items.at(-1);
    if (match && (match[1]?.length ?? 0) <= indent) items.push({ text: match[3] ?? "", below: [] });
    else if (match && last) last.below.push(line);
    else if (last) last.text += `\n${line.trim()}`;
  }
  return {
    kind: "list",
    ordered,
    start: ordered ? parseInt(first?.[2] ?? "1", 10) : 1,
    items: items.map(({ text, below }) =>
      below.length > 0 ? { text, inner: { ...list(below), source: below.join("\n") } } : { text },
    ),
  };
}

export type Inline =
  | { kind: "text" | "code" | "strong" | "em"; text: string }
  | { kind: "link"; text: string; href: string };

const span =
  /(?<code>`[^`\n]+`)|(?<strong>\*\*(?=\S)[^\n]+?\*\*)|(?<em>(?<![\w*])[*_](?=\S)[^*_\n]+?[*_](?!\w))|\[(?<label>[^\]\n]+)\]\((?<href>[^\s)]+)\)|(?<bare>https?:\/\/[^\s<>()]*[^\s<>().,;:!?'"])/g;

/** Only addresses that can do nothing but lead somewhere. */
function safe(href: string): boolean {
  return /^(https?:\/\/|\/(?!\/)|#)/i.test(href);
}

export function parseInline(text: string): Inline[] {
  const out: Inline[] = [];
  let last = 0;
  for (const match of text.matchAll(span)) {
    const { code, strong, em, label, href, bare } = match.groups ?? {};
    if (href !== undefined && !safe(href)) continue;
    if (match.index > last) out.push({ kind: "text", text: text.slice(last, match.index) });
    last = match.index + match[0].length;
    if (code) out.push({ kind: "code", text: code.slice(1, -1) });
    else if (strong) out.push({ kind: "strong", text: strong.slice(2, -2) });
    else if (em) out.push({ kind: "em", text: em.slice(1, -1) });
    else out.push({ kind: "link", text: label ?? bare ?? "", href: href ?? bare ?? "" });
  }
  if (last < text.length) out.push({ kind: "text", text: text.slice(last) });
  return out;
}
