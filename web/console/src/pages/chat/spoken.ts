import type { IMessage } from "@castalia/oracles-client";
import { plural } from "../../shell/format";
import { parseBlocks, parseInline, type Block } from "./parse";

/** More than this is better read where it stands. */
const most = 1500;

/** An answer as it is read out: its words without the marks of Markdown. */
export function spoken(message: Pick<IMessage, "content">): string {
  const content = Array.isArray(message.content) ? message.content : [message.content];
  const text = content.filter((part): part is string => typeof part === "string").join("\n\n");
  const words = parseBlocks(text).map(sayBlock).filter(Boolean).join(" ");
  return words.length > most ? `${words.slice(0, most)}… There is more in the messages.` : words;
}

function sayBlock(block: Block): string {
  switch (block.kind) {
    case "code":
      return "A block of code.";
    case "table":
      return `A table with ${plural(block.rows.length, "row")}.`;
    case "list":
      return block.items
        .map((i) => say(i.text) + (i.inner ? ` ${sayBlock(i.inner)}` : ""))
        .join("; ");
    case "rule":
      return "";
    default:
      return say(block.text);
  }
}

function say(text: string): string {
  return parseInline(text)
    .map((part) => (part.kind === "strong" || part.kind === "em" ? say(part.text) : part.text))
    .join("")
    .replace(/\s+/g, " ");
}
