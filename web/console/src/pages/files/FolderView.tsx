import { useState, type KeyboardEvent } from "react";
import { useAsked, useDoing } from "../../shell/asked";
import { CopyButton } from "../../shell/CopyButton";
import { ago, bytes, plural, short } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { useKeptFocus } from "../../shell/keptFocus";
import { Link } from "../../shell/Link";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import type { FileRecord, Files, TreeNode } from "./api";
import { AskDialog } from "./AskDialog";
import { named, remember } from "./named";
import type { Chosen } from "./ShareDialog";
import type { Trashed } from "./UndoTrash";

const byName = new Intl.Collator("en", { numeric: true });

/** Folders first, and what is numbered in the order of its numbers. */
function inOrder(a: TreeNode, b: TreeNode): number {
  if (a.type !== b.type) return a.type === "folder" ? -1 : 1;
  return byName.compare(a.name, b.name);
}

/** One folder: what is in it, what is chosen, and what can be done with that. */
export function FolderView(props: {
  folder: string;
  files: Files;
  onOpen: (file: FileRecord) => void;
  onFolder: (path: string) => void;
  onShare: (chosen: Chosen) => void;
  onTrashed: (files: Trashed[]) => void;
}) {
  const { folder, files } = props;
  const { data: list, error } = useAsked({
    queryKey: ["folder", folder],
    queryFn: async () => {
      const nodes = await files.tree(folder);
      return [...named(files.owner, folder, nodes), ...nodes].sort(inOrder);
    },
  });
  const { run, error: refusal } = useDoing([]);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [naming, setNaming] = useState(false);
  const table = useKeptFocus<HTMLElement>();

  const picked = (list ?? []).filter((n) => n.id && chosen.has(n.id));
  const toggle = (id: string) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  function trash(nodes: TreeNode[]) {
    const gone: Trashed[] = [];
    run(async () => {
      try {
        for (const { id, name } of nodes) {
          if (!id) continue;
          await files.remove(id);
          gone.push({ id, name });
        }
      } finally {
        // What is gone can come back, also when the rest could not go.
        props.onTrashed(gone);
        setChosen((before) => new Set([...before].filter((id) => !gone.some((g) => g.id === id))));
      }
    });
  }
  function clear() {
    setChosen(new Set());
    table.ref.current?.focus();
  }
  function nameFolder(name: string) {
    const path = `${folder === "/" ? "" : folder}/${name.replaceAll("/", " ").trim()}`;
    remember(files.owner, path);
    props.onFolder(path);
  }
  /** Up and down in a column, and away with the file that has the focus. */
  function walk(event: KeyboardEvent<HTMLElement>) {
    if (!(event.target instanceof HTMLElement)) return;
    const row = event.target.closest("tr");
    const cell = event.target.closest("td");
    if (!row || !cell) return;
    if (event.key === "Delete") {
      const node = list?.find((n) => n.path === row.dataset["path"]);
      if (node?.id) trash([node]);
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    const next = event.key === "ArrowDown" ? row.nextElementSibling : row.previousElementSibling;
    const same = next?.children[cell.cellIndex]?.querySelector<HTMLElement>("button, input");
    (same ?? next?.querySelector<HTMLElement>(".name"))?.focus();
  }
  const entries = (list ?? []).filter((n) => n.id);
  return (
    <>
      {picked.length === 0 ? (
        <div className="folder-bar">
          <Crumbs folder={folder} />
          <div className="row">
            <button type="button" className="quiet" onClick={() => setNaming(true)}>
              <Icon name="plus" /> New folder
            </button>
            <button
              type="button"
              className="quiet"
              onClick={() => props.onShare({ kind: "folder", path: folder })}
            >
              <Icon name="share" /> Share this folder
            </button>
          </div>
        </div>
      ) : (
        <div className="folder-bar selection" role="region" aria-label="Chosen files">
          <strong role="status">{plural(picked.length, "file")} chosen</strong>
          <div className="row">
            <button
              type="button"
              onClick={() =>
                props.onShare({
                  kind: "files",
                  cids: picked.map((n) => n.cid ?? ""),
                  names: picked.map((n) => n.name),
                  paths: picked.map((n) => n.path),
                })
              }
            >
              <Icon name="share" /> Share
            </button>
            <button
              type="button"
              className="danger"
              onClick={() => {
                trash(picked);
                clear();
              }}
            >
              <Icon name="trash" /> Trash
            </button>
            <button type="button" className="quiet" onClick={clear}>
              Clear
            </button>
          </div>
        </div>
      )}
      <section
        {...table}
        className="card table"
        aria-busy={!list && !error}
        aria-label={`Files in ${folder}`}
        onKeyDown={walk}
      >
        <Problem error={refusal || error} />
        {!list ? (
          !error && <Skeleton lines={4} label="Reading the folder" />
        ) : list.length === 0 ? (
          <div className="nothing">
            <Icon name="folder" />
            <p>{folder === "/" ? "No files yet." : "This folder is empty."}</p>
            <p className="soft small">
              Upload some, or drop files and folders anywhere on this page.
            </p>
          </div>
        ) : (
          <table>
            <thead>
              <tr>
                <th className="check">
                  {entries.length > 0 && (
                    <label>
                      <input
                        type="checkbox"
                        aria-label="Choose all files"
                        checked={picked.length === entries.length}
                        onChange={() =>
                          setChosen(
                            new Set(
                              picked.length === entries.length
                                ? []
                                : entries.flatMap((n) => n.id ?? []),
                            ),
                          )
                        }
                      />
                    </label>
                  )}
                </th>
                <th className="name-cell">Name</th>
                <th className="number wide-only">Size</th>
                <th className="wide-only">Changed</th>
                <th className="wide-only">CID</th>
                <th>
                  <span className="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {list.map((node) => (
                <tr
                  key={node.path}
                  data-path={node.path}
                  className={node.id && chosen.has(node.id) ? "chosen" : ""}
                >
                  <td className="check">
                    {node.id && (
                      <label>
                        <input
                          type="checkbox"
                          aria-label={`Choose ${node.name}`}
                          checked={chosen.has(node.id)}
                          onChange={() => node.id && toggle(node.id)}
                        />
                      </label>
                    )}
                  </td>
                  <td>
                    <button
                      type="button"
                      className="quiet name"
                      title={node.type === "folder" ? "Open this folder" : undefined}
                      onClick={() =>
                        isFile(node) ? props.onOpen(node) : props.onFolder(node.path)
                      }
                    >
                      <Icon name={iconOf(node)} />
                      <span>{node.name}</span>
                    </button>
                    {node.size !== undefined && (
                      <span className="narrow-only soft small under-name">
                        {[bytes(node.size), changed(node)].filter(Boolean).join(" · ")}
                      </span>
                    )}
                  </td>
                  <td className="number wide-only">
                    {node.size === undefined ? "" : bytes(node.size)}
                  </td>
                  <td className="wide-only soft nobreak">{changed(node)}</td>
                  <td className="wide-only mono nobreak">
                    {node.cid && (
                      <span className="row tight nowrap">
                        {short(node.cid)}
                        <CopyButton text={node.cid} label={`Copy the CID of ${node.name}`} />
                      </span>
                    )}
                  </td>
                  <td className="number">
                    {node.id && (
                      <button
                        type="button"
                        className="quiet"
                        aria-label={`Move ${node.name} to the trash`}
                        title="Move to the trash"
                        onClick={() => trash([node])}
                      >
                        <Icon name="trash" />
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
      {naming && (
        <AskDialog
          title="New folder"
          act="Make it"
          field={{ label: "Name of the new folder", value: "" }}
          onAct={nameFolder}
          onClose={() => setNaming(false)}
        />
      )}
    </>
  );
}

/** Whether all is known that a file's page needs. */
function isFile(node: TreeNode): node is TreeNode & FileRecord {
  return node.type === "file" && node.id !== undefined;
}

/** When it was changed, and how often if more than once. */
function changed({ updatedAt, version = 1 }: TreeNode): string {
  if (!updatedAt) return "";
  return version > 1 ? `${ago(updatedAt)}, v${version}` : ago(updatedAt);
}

function iconOf(node: TreeNode) {
  if (node.type === "folder") return "folder";
  return node.mimeType?.startsWith("image/") ? "image" : "file";
}

function Crumbs({ folder }: { folder: string }) {
  const parts = folder.split("/").filter(Boolean);
  return (
    <nav aria-label="Folder" className="crumbs">
      <ol>
        <li>
          <Link to="files" current={parts.length === 0}>
            All files
          </Link>
        </li>
        {parts.map((part, i) => (
          <li key={i}>
            <Link
              to={`files/${parts
                .slice(0, i + 1)
                .map(encodeURIComponent)
                .join("/")}`}
              current={i === parts.length - 1}
            >
              {part}
            </Link>
          </li>
        ))}
      </ol>
    </nav>
  );
}
