import { useEffect, useState } from "react";
import { CopyButton } from "../../shell/CopyButton";
import { ago, bytes, plural, short } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Link } from "../../shell/Link";
import { Skeleton } from "../../shell/Skeleton";
import type { FileRecord, Files, TreeNode } from "./api";
import { named, remember } from "./named";
import type { Chosen } from "./ShareDialog";

interface Entry extends TreeNode {
  record?: FileRecord | undefined;
}

/** One folder: what is in it, what is chosen, and what can be done with that. */
export function FolderView(props: {
  folder: string;
  files: Files;
  round: number;
  onOpen: (file: FileRecord) => void;
  onFolder: (path: string) => void;
  onShare: (chosen: Chosen) => void;
  onChanged: () => void;
  onError: (cause: unknown) => void;
}) {
  const { folder, files, round, onError } = props;
  const [list, setList] = useState<Entry[]>();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    let gone = false;
    Promise.all([files.tree(folder), files.list(folder)]).then(([nodes, records]) => {
      if (gone) return;
      const byId = new Map(records.map((r) => [r.id, r]));
      const empty = named(files.owner, folder, nodes);
      setList([
        ...empty,
        ...nodes.map((n) => ({ ...n, record: n.id ? byId.get(n.id) : undefined })),
      ]);
      setChosen(new Set());
    }, onError);
    return () => {
      gone = true;
    };
  }, [files, folder, round, onError]);

  const picked = (list ?? []).filter((n) => n.id && chosen.has(n.id));
  const toggle = (id: string) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  async function trash(nodes: Entry[]) {
    for (const node of nodes) if (node.id) await files.remove(node.id);
  }
  async function open(node: Entry) {
    if (node.record) props.onOpen(node.record);
    else if (node.id) props.onOpen(await files.file(node.id));
  }
  function newFolder() {
    const name = prompt("Name of the new folder");
    const clean = name?.replaceAll("/", " ").trim();
    if (!clean) return;
    const path = `${folder === "/" ? "" : folder}/${clean}`;
    remember(files.owner, path);
    props.onFolder(path);
  }
  return (
    <>
      <div className="row spread crumbs-row">
        <Crumbs folder={folder} />
        <div className="row">
          <button type="button" className="quiet" onClick={newFolder}>
            <Icon name="plus" /> Folder
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
      {picked.length > 0 && (
        <div className="selection" role="region" aria-label="Chosen files">
          <strong>{plural(picked.length, "file")} chosen</strong>
          <div className="row">
            <button
              type="button"
              onClick={() =>
                props.onShare({
                  kind: "files",
                  cids: picked.map((n) => n.cid ?? ""),
                  names: picked.map((n) => n.name),
                })
              }
            >
              <Icon name="share" /> Share
            </button>
            <button
              type="button"
              className="danger"
              onClick={() => void trash(picked).then(props.onChanged, onError)}
            >
              <Icon name="trash" /> Trash
            </button>
            <button type="button" className="quiet" onClick={() => setChosen(new Set())}>
              Clear
            </button>
          </div>
        </div>
      )}
      <section className="card table" aria-busy={!list} aria-label={`Files in ${folder}`}>
        {!list ? (
          <Skeleton lines={4} label="Reading the folder" />
        ) : list.length === 0 ? (
          <div className="nothing">
            <Icon name="folder" />
            <p>{folder === "/" ? "No files yet." : "This folder is empty."}</p>
            <p className="soft small">Drop files or folders anywhere on this page.</p>
          </div>
        ) : (
          <table>
            <thead>
              <tr>
                <th className="check">
                  <span className="visually-hidden">Choose</span>
                </th>
                <th>Name</th>
                <th className="number">Size</th>
                <th className="wide-only">Changed</th>
                <th className="wide-only">CID</th>
                <th>
                  <span className="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {list?.map((node) => (
                <tr key={node.path} className={node.id && chosen.has(node.id) ? "chosen" : ""}>
                  <td className="check">
                    {node.id && (
                      <input
                        type="checkbox"
                        aria-label={`Choose ${node.name}`}
                        checked={chosen.has(node.id)}
                        onChange={() => node.id && toggle(node.id)}
                      />
                    )}
                  </td>
                  <td>
                    <button
                      type="button"
                      className="quiet name"
                      onClick={() =>
                        node.type === "folder"
                          ? props.onFolder(node.path)
                          : void open(node).catch(onError)
                      }
                    >
                      <Icon name={iconOf(node)} /> {node.name}
                    </button>
                  </td>
                  <td className="number">{node.size === undefined ? "" : bytes(node.size)}</td>
                  <td className="wide-only soft">
                    {node.record &&
                      `${ago(node.record.updatedAt)}${node.record.version > 1 ? `, v${node.record.version}` : ""}`}
                  </td>
                  <td className="wide-only mono">
                    {node.cid && (
                      <span className="row tight">
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
                        onClick={() => void trash([node]).then(props.onChanged, onError)}
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
    </>
  );
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
