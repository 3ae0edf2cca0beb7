import { Fragment, memo, type ReactNode } from "react";
import { useLabels } from "../labels";
import { CopyButton } from "../parts/CopyButton";
import { parseBlocks, type Block, type Inline, type Item } from "./parse";

export interface MarkdownProps {
  text: string;
}

/**
 * The Markdown that answers use. Text is turned into elements, never into
 * markup, so nothing in it can run; while it streams, only the last block is
 * drawn again.
 */
export const Markdown = memo(function Markdown({ text }: MarkdownProps) {
  return (
    <div className="castalia-markdown">
      {parseBlocks(text).map((block, i) => (
        <BlockView key={i} source={block.source} block={block} />
      ))}
    </div>
  );
});

const BlockView = memo(
  function BlockView({ block }: { source: string; block: Block }) {
    return drawBlock(block);
  },
  (before, after) => before.source === after.source && before.block.kind === after.block.kind,
);

function drawBlock(block: Block): ReactNode {
  switch (block.kind) {
    case "code":
      return <Code text={block.text} />;
    case "heading":
      return block.level <= 2 ? (
        <h3 dir="auto">{drawInline(block.inline)}</h3>
      ) : (
        <h4 dir="auto">{drawInline(block.inline)}</h4>
      );
    case "list": {
      const items = block.items.map((item, n) => <li key={n}>{drawItem(item)}</li>);
      return block.ordered ? (
        <ol dir="auto" start={block.start}>
          {items}
        </ol>
      ) : (
        <ul dir="auto">{items}</ul>
      );
    }
    case "quote":
      return <blockquote dir="auto">{drawBlocks(block.blocks)}</blockquote>;
    case "table":
      return <Table block={block} />;
    case "rule":
      return <hr />;
    case "text":
      return <p dir="auto">{drawInline(block.inline)}</p>;
  }
}

function Code({ text }: { text: string }) {
  return (
    <figure className="castalia-code" dir="ltr">
      <pre>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={useLabels().copyCode} />
    </figure>
  );
}

function Table({ block }: { block: Extract<Block, { kind: "table" }> }) {
  return (
    <div className="castalia-table" role="region" aria-label={useLabels().table} tabIndex={0}>
      <table dir="auto">
        <thead>
          <tr>
            {block.head.map((cell, i) => (
              <th key={i} className={`castalia-${block.align[i]}`}>
                {drawInline(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {block.rows.map((row, n) => (
            <tr key={n}>
              {row.map((cell, i) => (
                <td key={i} className={`castalia-${block.align[i]}`}>
                  {drawInline(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function drawBlocks(blocks: Block[]): ReactNode[] {
  return blocks.map((block, n) => <Fragment key={n}>{drawBlock(block)}</Fragment>);
}

/** The text of an item stands beside its mark, unless blank lines make paragraphs of it. */
function drawItem(item: Item): ReactNode {
  const box = item.checked === undefined ? "" : item.checked ? "☑ " : "☐ ";
  return (
    <>
      {box}
      {item.blocks.map((block, n) => (
        <Fragment key={n}>
          {block.kind === "text" && (!item.loose || box)
            ? drawInline(block.inline)
            : drawBlock(block)}
        </Fragment>
      ))}
    </>
  );
}

function drawInline(inline: Inline[]): ReactNode[] {
  return inline.map((part, key) => {
    switch (part.kind) {
      case "code":
        return <code key={key}>{part.text}</code>;
      case "strong":
        return <strong key={key}>{drawInline(part.inline)}</strong>;
      case "em":
        return <em key={key}>{drawInline(part.inline)}</em>;
      case "struck":
        return <s key={key}>{drawInline(part.inline)}</s>;
      case "link":
        // Marks of direction around a link do not turn its words round.
        return (
          <Fragment key={key}>
            <a href={part.href} target="_blank" rel="noreferrer noopener" dir="auto">
              {drawInline(part.inline)}
            </a>
            {part.leads && <bdi className="castalia-soft"> ({part.leads})</bdi>}
          </Fragment>
        );
      case "break":
        return <br key={key} />;
      case "text":
        return part.text;
    }
  });
}
