import type { IMessage } from "@castalia/oracles-client";
import type { Labels } from "../labels";
import { parseBlocks, type Block, type Inline } from "../markdown/parse";

type Words = Pick<Labels, "codeBlock" | "moreToRead" | "tableOf">;

/** More than this is better read where it stands. */
const most = 1500;

/** An answer as it is read out: its words without the marks of Markdown. */
export function spoken(message: Pick<IMessage, "content">, labels: Words): string {
  const content = Array.isArray(message.content) ? message.content : [message.content];
  const text = content.filter((part): part is string => typeof part === "string").join("\n\n");
  const words = sayBlocks(parseBlocks(text), labels);
  return words.length > most ? `${words.slice(0, most)}… ${labels.moreToRead}` : words;
}

function sayBlocks(blocks: Block[], labels: Words): string {
  return blocks
    .map((block) => sayBlock(block, labels))
    .filter(Boolean)
    .join(" ");
}

function sayBlock(block: Block, labels: Words): string {
  switch (block.kind) {
    case "code":
      return labels.codeBlock;
    case "table":
      return labels.tableOf(block.rows.length);
    case "list":
      return block.items.map((item) => sayBlocks(item.blocks, labels)).join("; ");
    case "quote":
      return sayBlocks(block.blocks, labels);
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
