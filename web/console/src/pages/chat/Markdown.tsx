import { memo, type ReactNode } from "react";
import { CopyButton } from "../../shell/CopyButton";
import { parseBlocks, parseInline, type Block, type Inline } from "./parse";

/**
 * The Markdown that answers use. Text is turned into elements, never into
 * markup, so nothing in it can run; while it streams, only the last block is
 * drawn again.
 */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
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
      return (
        <figure className="code">
          <pre>
            <code>{block.text}</code>
          </pre>
          <CopyButton text={block.text} label="Copy the code" />
        </figure>
      );
    case "heading":
      return block.level <= 2 ? <h3>{inline(block.text)}</h3> : <h4>{inline(block.text)}</h4>;
    case "list": {
      const items = block.items.map((item, n) => (
        <li key={n}>
          {inline(item.text)}
          {item.inner && drawBlock(item.inner)}
        </li>
      ));
      return block.ordered ? <ol start={block.start}>{items}</ol> : <ul>{items}</ul>;
    }
    case "quote":
      return <blockquote>{inline(block.text)}</blockquote>;
    case "table":
      return (
        <div className="table-scroll" role="region" aria-label="Table" tabIndex={0}>
          <table>
            <thead>
              <tr>
                {block.head.map((cell, i) => (
                  <th key={i} className={block.align[i]}>
                    {inline(cell)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((row, n) => (
                <tr key={n}>
                  {row.map((cell, i) => (
                    <td key={i} className={block.align[i]}>
                      {inline(cell)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case "rule":
      return <hr />;
    case "text":
      return <p>{inline(block.text)}</p>;
  }
}

function inline(text: string): ReactNode[] {
  return parseInline(text).map((part: Inline, key) => {
    switch (part.kind) {
      case "code":
        return <code key={key}>{part.text}</code>;
      case "strong":
        return <strong key={key}>{inline(part.text)}</strong>;
      case "em":
        return <em key={key}>{inline(part.text)}</em>;
      case "link":
        return (
          <a key={key} href={part.href} target="_blank" rel="noreferrer noopener">
            {part.text}
          </a>
        );
      case "text":
        return part.text;
    }
  });
}
