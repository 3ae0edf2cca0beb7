import { useEffect, useRef, useState } from "react";
import { useDoing } from "../../shell/asked";
import { Dialog } from "../../shell/Dialog";
import { Icon } from "../../shell/icons";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import type { Files, TreeNode } from "./api";
import { said } from "./ended";
import { useListing } from "./listing";
import { parentOf, within } from "./transfer";
import { say } from "../../words";

/** Folders of one folder that are offered; whoever has more opens them by their address. */
const most = 500;

/** Chooses the folder into which something is moved or copied. */
export function FolderChooser(props: {
  files: Files;
  act: "move" | "copy";
  nodes: TreeNode[];
  start: string;
  onChoose: (folder: string) => void;
  onClose: () => void;
}) {
  const { files, nodes, act } = props;
  const [folder, setFolder] = useState(props.start);
  const what = said(nodes);
  const isInside = nodes.some((n) => n.type === "folder" && `${folder}/`.startsWith(`${n.path}/`));
  const isSame = act === "move" && nodes.every((n) => parentOf(n.path) === folder);
  return (
    <Dialog title={say("files.sendWhat", { way: act, what })} onClose={props.onClose}>
      <Folders
        key={folder}
        files={files}
        folder={folder}
        isFirst={folder === props.start}
        onFolder={setFolder}
        without={nodes}
      />
      <div className="row end chooser-end">
        <button type="button" onClick={props.onClose}>
          {say("shell.cancel")}
        </button>
        <button
          type="button"
          className="primary"
          disabled={isInside || isSame}
          onClick={() => {
            props.onClose();
            props.onChoose(folder);
          }}
        >
          {folder === "/"
            ? say("files.sendToAll", { way: act })
            : say("files.sendTo", { way: act, folder: folder.slice(folder.lastIndexOf("/") + 1) })}
        </button>
      </div>
    </Dialog>
  );
}

/** The folders in a folder, the one above, and a new one. */
function Folders(props: {
  files: Files;
  folder: string;
  isFirst: boolean;
  without: TreeNode[];
  onFolder: (path: string) => void;
}) {
  const { files, folder, onFolder } = props;
  const { list, error } = useListing(files, folder);
  const { run, error: refusal, isBusy } = useDoing([]);
  const [name, setName] = useState("");
  const top = useRef<HTMLDivElement>(null);
  const moved = new Set(props.without.map((n) => n.path));
  const folders = (list ?? []).filter((n) => n.type === "folder" && !moved.has(n.path));
  const isReady = list !== undefined;
  // Who opens a folder goes on from its first line.
  const { isFirst } = props;
  useEffect(() => {
    if (isReady && !isFirst) top.current?.querySelector<HTMLElement>("button, input")?.focus();
  }, [isReady, isFirst]);
  const make = () => {
    const path = within(folder, name.replaceAll("/", " ").trim());
    run(async () => {
      await files.makeFolder(path);
      onFolder(path);
    });
  };
  return (
    <div ref={top} className="chooser">
      <p className="path-cell" role="status">
        {folder === "/" ? say("files.allFiles") : folder.slice(1)}
      </p>
      <Problem error={refusal || error} />
      {!list && !error && <Skeleton lines={3} label={say("files.readingFolder")} />}
      <ul className="plain chooser-list">
        {folder !== "/" && (
          <li>
            <button type="button" className="quiet" onClick={() => onFolder(parentOf(folder))}>
              <Icon name="back" /> {say("files.oneUp")}
            </button>
          </li>
        )}
        {folders.slice(0, most).map((n) => (
          <li key={n.path}>
            <button type="button" className="quiet" onClick={() => onFolder(n.path)}>
              <Icon name="folder" /> <span dir="auto">{n.name}</span>
            </button>
          </li>
        ))}
        {list && folders.length === 0 && <li className="soft small">{say("files.noFolders")}</li>}
      </ul>
      <form
        className="row nowrap"
        onSubmit={(event) => {
          event.preventDefault();
          make();
        }}
      >
        <input
          aria-label={say("files.newFolderHere")}
          placeholder={say("files.newFolder")}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <button type="submit" className="nobreak" disabled={isBusy || name.trim() === ""}>
          {say("files.makeIt")}
        </button>
      </form>
    </div>
  );
}
