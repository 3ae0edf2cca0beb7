import type { IMessage } from "@castalia/oracles-client";
import { plural } from "../../shell/format";
import { parseBlocks, type Block, type Inline } from "./parse";

/** More than this is better read where it stands. */
const most = 1500;

/** An answer as it is read out: its words without the marks of Markdown. */
export function spoken(message: Pick<IMessage, "content">): string {
  const content = Array.isArray(message.content) ? message.content : [message.content];
  const text = content.filter((part): part is string => typeof part === "string").join("\n\n");
  const words = sayBlocks(parseBlocks(text));
  return words.length > most ? `${words.slice(0, most)}… There is more in the messages.` : words;
}

function sayBlocks(blocks: Block[]): string {
  return blocks.map(sayBlock).filter(Boolean).join(" ");
}

function sayBlock(block: Block): string {
  switch (block.kind) {
    case "code":
      return "A block of code.";
    case "table":
      return `A table with ${plural(block.rows.length, "row")}.`;
    case "list":
      return block.items.map((item) => sayBlocks(item.blocks)).join("; ");
    case "quote":
      return sayBlocks(block.blocks);
    case "rule":
      return "";
    default:
      return say(block.inline).replace(/\s+/g, " ");
  }
}

function say(inline: Inline[]): string {
  return inline
    .map((part) => ("inline" in part ? say(part.inline) : part.kind === "break" ? " " : part.text))
    .join("");
}
