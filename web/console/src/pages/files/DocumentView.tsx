import type { Block, DocumentLook } from "./api";
import { say } from "../../words";

/** Cells of a table; the first row is its head. */
export function CellTable({ rows, header = 1 }: { rows: string[][]; header?: number }) {
  const cells = (row: string[], Cell: "th" | "td") =>
    row.map((cell, i) => <Cell key={i}>{cell}</Cell>);
  return (
    <table className="cells">
      {header > 0 && (
        <thead>
          {rows.slice(0, header).map((row, i) => (
            <tr key={i}>{cells(row, "th")}</tr>
          ))}
        </thead>
      )}
      <tbody>
        {rows.slice(header).map((row, i) => (
          <tr key={i}>{cells(row, "td")}</tr>
        ))}
      </tbody>
    </table>
  );
}

/** What a document says, without how it looks. */
export function DocumentView({ look, name }: { look: DocumentLook; name: string }) {
  return (
    <div
      className="preview document"
      role="region"
      aria-label={say("files.previewOf", { name })}
      tabIndex={0}
    >
      {look.blocks.length === 0 && <p className="soft">{say("files.noText")}</p>}
      {look.blocks.map((block, i) => (
        <Shown key={i} block={block} before={look.blocks[i - 1]} />
      ))}
      {look.notes?.map((note) => (
        <p key={note} className="soft small">
          {note}
        </p>
      ))}
    </div>
  );
}

function Shown({ block, before }: { block: Block; before: Block | undefined }) {
  const { page, part } = block.place ?? {};
  const where = page ? say("files.page", { page: String(page) }) : part;
  const last = before?.place?.page
    ? say("files.page", { page: String(before.place.page) })
    : before?.place?.part;
  return (
    <>
      {where && where !== last && <p className="soft small place">{where}</p>}
      {block.kind === "heading" ? (
        <p className="heading">{block.text}</p>
      ) : block.kind === "list" ? (
        <ul>
          {block.items?.map((item, i) => (
            <li key={i}>{item.text}</li>
          ))}
        </ul>
      ) : block.kind === "table" ? (
        <CellTable rows={block.rows ?? []} header={block.header ?? 0} />
      ) : block.kind === "code" ? (
        <pre>{block.text}</pre>
      ) : (
        <p>{block.text}</p>
      )}
    </>
  );
}
