import type { MarkedToken, Token } from "marked";
import { leadsTo } from "./leads";
import { lexMarkdown } from "./lexer";

/** Markdown as data: nothing in it can run, and no HTML is made of it. */

export type Block = { source: string } & (
  | { kind: "text"; inline: Inline[] }
  | { kind: "heading"; level: number; inline: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "list"; ordered: boolean; start: number; items: Item[] }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][]; align: Align[] }
  | { kind: "rule" }
);

/** How a column of a table stands. */
export type Align = "left" | "right" | "centre";

export interface Item {
  /** Whether it is done, of an item with a box. */
  checked?: boolean;
  /** Whether blank lines part it from its neighbours. */
  loose: boolean;
  blocks: Block[];
}

export type Inline =
  | { kind: "text" | "code"; text: string }
  | { kind: "strong" | "em" | "struck"; inline: Inline[] }
  /** `leads` is where the link goes, if its words name another place. */
  | { kind: "link"; href: string; inline: Inline[]; leads?: string }
  | { kind: "break" };

/** Longer texts are Markdown up to here; the rest is shown as it is. */
export const longest = 100_000;

/** Splits a text into blocks. An unfinished block at the end is a block already. */
export function parseBlocks(text: string): Block[] {
  if (text.length <= longest) return blocksOf(lexMarkdown(text));
  const lineEnd = text.lastIndexOf("\n", longest);
  const end = lineEnd > 0 ? lineEnd : longest;
  const rest = text.slice(end);
  return [
    ...blocksOf(lexMarkdown(text.slice(0, end))),
    { kind: "text", source: rest, inline: [{ kind: "text", text: rest }] },
  ];
}

function blocksOf(tokens: Token[]): Block[] {
  return tokens.flatMap((token) => {
    const block = blockOf(token);
    return block ? [{ ...block, source: token.raw } as Block] : [];
  });
}

/** Every block of one kind, without what all have. */
type Unplaced = Block extends infer B ? (B extends Block ? Omit<B, "source"> : never) : never;

function blockOf(generic: Token): Unplaced | undefined {
  const token = generic as MarkedToken;
  switch (token.type) {
    case "code":
      return { kind: "code", language: token.lang ?? "", text: token.text };
    case "heading":
      return { kind: "heading", level: token.depth, inline: inlineOf(token.tokens) };
    case "hr":
      return { kind: "rule" };
    case "blockquote":
      return { kind: "quote", blocks: blocksOf(token.tokens) };
    case "list":
      return {
        kind: "list",
        ordered: token.ordered,
        start: token.start === "" ? 1 : token.start,
        items: token.items.map((item) => ({
          ...(item.task ? { checked: item.checked === true } : {}),
          loose: item.loose,
          blocks: blocksOf(item.tokens),
        })),
      };
    case "table":
      return {
        kind: "table",
        head: token.header.map((cell) => inlineOf(cell.tokens)),
        rows: token.rows.map((row) => row.map((cell) => inlineOf(cell.tokens))),
        align: token.align.map((a) => (a === "center" ? "centre" : (a ?? "left"))),
      };
    case "paragraph":
    case "text":
      return { kind: "text", inline: inlineOf(token.tokens ?? [token]) };
    default:
      return undefined;
  }
}

function inlineOf(tokens: Token[]): Inline[] {
  return tokens.flatMap((token) => spanOf(token) ?? []);
}

function spanOf(generic: Token): Inline | undefined {
  const token = generic as MarkedToken;
  switch (token.type) {
    case "codespan":
      return { kind: "code", text: token.text };
    case "strong":
    case "em":
      return { kind: token.type, inline: inlineOf(token.tokens) };
    case "del":
      return { kind: "struck", inline: inlineOf(token.tokens) };
    case "br":
      return { kind: "break" };
    case "link":
      return linkTo(token.href, inlineOf(token.tokens), token.raw);
    case "image":
      // A picture from elsewhere would tell its host who reads this, and when.
      return linkTo(token.href, [{ kind: "text", text: token.text || token.href }], token.raw);
    case "escape":
      return { kind: "text", text: token.text };
    case "text":
      return { kind: "text", text: decoded(token.text) };
    default:
      return undefined;
  }
}

function linkTo(href: string, inline: Inline[], raw: string): Inline {
  if (!isSafe(href)) return { kind: "text", text: raw };
  const leads = leadsTo(wordsOf(inline), href);
  return { kind: "link", href, inline, ...(leads === undefined ? {} : { leads }) };
}

function wordsOf(inline: Inline[]): string {
  return inline
    .map((part) => ("text" in part ? part.text : "inline" in part ? wordsOf(part.inline) : " "))
    .join("");
}

const entities: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  nbsp: "\u00a0",
};

function decoded(text: string): string {
  return text.replace(/&(\w{1,4});/g, (whole, name: string) => entities[name] ?? whole);
}

/** Only addresses that can do nothing but lead somewhere. Browsers read a backslash as a slash. */
function isSafe(href: string): boolean {
  return /^(?:https?:\/\/|mailto:|#|\/(?![/\\]))[^\s\\\p{Cc}]*$/iu.test(href);
}
