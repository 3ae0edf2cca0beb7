import { useCallback, useEffect, useMemo, useRef, useState, type DragEvent } from "react";
import { useDoing } from "../../shell/asked";
import { messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import type { FileRecord, Files, TreeNode } from "./api";
import { AskDialog } from "./AskDialog";
import { Crumbs } from "./Crumbs";
import { said, trashAll, troubles } from "./ended";
import { FileGrid, type GridActs } from "./FileGrid";
import { FolderChooser } from "./FolderChooser";
import { keyOf, useListing } from "./listing";
import type { Done } from "./Notice";
import { nothing, pick, picked, type Selection } from "./selection";
import type { Chosen } from "./ShareDialog";
import type { Thumbnails } from "./thumbnails";
import { isTaken, parentOf, takeBack, transfer, within, type Ask } from "./transfer";
import { say } from "../../words";

/** What was copied or cut, until it is pasted. */
export interface Clip {
  act: "copy" | "move";
  nodes: TreeNode[];
}

/** Where somebody comes from who came by a key: the focus goes to that row, or to the first. */
export interface Arrival {
  from: string;
}

/** What rows carry while they are dragged: their paths, for this page alone. */
const carried = "application/x-castalia-files";

/** One folder: what is in it, what is chosen, and what can be done with that. */
export function FolderView(props: {
  folder: string;
  files: Files;
  arrival: Arrival | undefined;
  clip: Clip | undefined;
  thumbnails: Thumbnails;
  ask: Ask;
  /** While it lasts, nobody leaves the page without being asked. */
  during: <T>(work: () => Promise<T>) => Promise<T>;
  onOpen: (file: FileRecord) => void;
  onFolder: (path: string, arrival?: Arrival) => void;
  onShare: (chosen: Chosen) => void;
  onClip: (clip: Clip | undefined) => void;
  onDone: (done: Done | undefined) => void;
  /** Files from outside that were dropped on a folder. */
  onFiles: (transfer: DataTransfer, folder: string) => void;
}) {
  const { folder, files, arrival, clip, ask, during, onDone, onClip, onFolder } = props;
  const { list, isPartial, isCut, error } = useListing(files, folder);
  const { run } = useDoing([]);
  const [selection, setSelection] = useState<Selection>(() => ({
    ...nothing,
    active: arrival?.from ?? "",
  }));
  const [renamed, setRenamed] = useState("");
  const [asking, setAsking] = useState<"folder" | "move" | "copy">();
  const [dragged, setDragged] = useState<TreeNode[]>([]);
  // What is on its way out of the folder: nothing is done with it a second time.
  const [leaving, setLeaving] = useState<ReadonlySet<string>>(new Set());
  // Whether who uses keys is here: then the focus stays here, whatever goes away under it.
  const isInside = useRef(arrival !== undefined);
  // Where nothing is left the list itself has the focus, and its keys.
  const place = useRef<HTMLElement>(null);
  const isEmpty = list?.length === 0;
  useEffect(() => {
    if (isEmpty && isInside.current && document.activeElement === document.body)
      place.current?.focus();
  }, [isEmpty]);
  const chosen = picked(selection, list ?? []);

  const clear = () => setSelection((was) => ({ ...was, anchor: "", chosen: new Set() }));
  /** Does something, and the page hears how it went, also when this folder is left by then. */
  const act = useCallback(
    (work: () => Promise<Done>) =>
      run(async () => {
        try {
          onDone(await during(work));
        } catch (cause) {
          onDone({ text: "", problem: messageOf(cause) });
        }
      }),
    [run, onDone, during],
  );
  /** Does something with entries that go away by it. */
  const take = useCallback(
    (nodes: readonly TreeNode[], work: (nodes: TreeNode[]) => Promise<Done>) => {
      const some = nodes.filter((n) => !leaving.has(keyOf(n)));
      if (some.length === 0) return;
      const keys = new Set(some.map(keyOf));
      setLeaving((was) => new Set([...was, ...keys]));
      act(() =>
        work(some).finally(() =>
          setLeaving((was) => new Set([...was].filter((key) => !keys.has(key)))),
        ),
      );
    },
    [leaving, act],
  );

  const trash = (nodes: TreeNode[]) =>
    take(nodes, async (some) => {
      const { gone, undo, ...ended } = await trashAll(files, some);
      clear();
      return {
        text: gone.length > 0 ? say("files.trashed", { what: said(gone) }) : "",
        problem: troubles("trash", ended),
        ...(gone.length > 0 ? { undo } : {}),
      };
    });

  const send = useCallback(
    (way: "move" | "copy", nodes: TreeNode[], to: string) => {
      const go = async (some: TreeNode[]) => {
        const { done, skipped, ...ended } = await transfer(files, way, some, to, ask);
        const what = said(done.map(({ node }) => node));
        const left = skipped > 0 ? say("files.left", { n: skipped }) : "";
        const went =
          to === "/"
            ? say("files.sentToAll", { way, what })
            : say("files.sentTo", { way, what, folder: to.slice(1) });
        return {
          text: [done.length > 0 ? went : "", left].filter(Boolean).join(" "),
          problem: troubles(way, ended),
          ...(way === "move" && done.length > 0 ? { undo: () => takeBack(files, done) } : {}),
        };
      };
      if (way === "move") take(nodes, go);
      else act(() => go(nodes));
    },
    [take, act, files, ask],
  );

  const rename = (node: TreeNode, name?: string) => {
    setRenamed("");
    const wanted = name?.replaceAll("/", " ").trim().normalize("NFC");
    if (!wanted || name === node.name || wanted === node.name) return;
    const to = within(folder, wanted);
    take([node], async () => {
      try {
        await files.move(node.path, to);
      } catch (cause) {
        if (!isTaken(cause)) throw cause;
        return { text: "", problem: say("files.keepsName", { name: node.name, wanted }) };
      }
      setSelection((was) => ({ ...was, active: keyOf({ ...node, path: to }) }));
      return {
        text: say("files.renamed", { name: node.name, wanted }),
        undo: () => files.move(to, node.path),
      };
    });
  };
  const toClip = (act: Clip["act"]) => {
    const nodes =
      chosen.length > 0 ? chosen : (list ?? []).filter((n) => keyOf(n) === selection.active);
    if (nodes.length === 0) return;
    onClip({ act, nodes });
    onDone({ text: say("files.clipped", { what: said(nodes), way: act }) });
  };
  const paste = () => {
    if (!clip) return;
    send(clip.act, clip.nodes, folder);
    if (clip.act === "move") onClip(undefined);
  };
  const up = () => folder !== "/" && onFolder(parentOf(folder), { from: `${folder}/` });
  const open = (node: TreeNode) =>
    isFile(node) ? props.onOpen(node) : onFolder(node.path, { from: "" });

  const target = {
    /** A folder takes files of other programs, and rows that are not itself. */
    over: (to: string, event: DragEvent) => {
      const { types } = event.dataTransfer;
      if (types.includes("Files")) return true;
      if (!types.includes(carried)) return false;
      event.dataTransfer.dropEffect = event.ctrlKey || event.altKey ? "copy" : "move";
      if (dragged.length === 0) return false; // rows of another window
      return !dragged.some((n) => n.path === to || parentOf(n.path) === to);
    },
    drop: (to: string, event: DragEvent) => {
      event.preventDefault();
      event.stopPropagation();
      if (event.dataTransfer.types.includes("Files")) return props.onFiles(event.dataTransfer, to);
      send(event.ctrlKey || event.altKey ? "copy" : "move", dragged, to);
      setDragged([]);
    },
  };
  const acts: GridActs = {
    open,
    trash: (node) => trash([node]),
    trashChosen: (node) => trash(chosen.length > 0 ? chosen : [node]),
    startRename: (node) => setRenamed(keyOf(node)),
    rename,
    copy: () => toClip("copy"),
    cut: () => toClip("move"),
    paste,
    up,
    drag: (index, event) => {
      const node = list?.[index];
      if (!node) return;
      const isChosen = selection.chosen.has(keyOf(node));
      if (!isChosen) setSelection((was) => pick(was, list, index, "only"));
      const nodes = isChosen ? chosen : [node];
      setDragged(nodes);
      event.dataTransfer.effectAllowed = "copyMove";
      event.dataTransfer.setData(carried, String(nodes.length));
    },
    over: (node, event) => target.over(node.path, event),
    drop: (node, event) => target.drop(node.path, event),
  };
  const cut = useMemo(
    () => new Set([...(clip?.act === "move" ? clip.nodes.map(keyOf) : []), ...leaving]),
    [clip, leaving],
  );
  const onlyFiles = chosen.every(isFile);
  return (
    <>
      <div
        onFocus={() => {
          isInside.current = true;
        }}
        onBlur={(event) => {
          const { target, currentTarget, relatedTarget } = event;
          if (relatedTarget) {
            // A dialog of this folder gives the focus back.
            isInside.current =
              currentTarget.contains(relatedTarget) || relatedTarget.closest("dialog") !== null;
            return;
          }
          // Who clicks beside everything has left; what goes away with the focus gives it on.
          setTimeout(() => {
            if (target.isConnected && document.activeElement === document.body)
              isInside.current = false;
          });
        }}
      >
        <div className={chosen.length > 0 ? "folder-bar selection" : "folder-bar"}>
          <Crumbs folder={folder} target={target} />
          {chosen.length > 0 ? (
            // In the place of the others, so that nothing moves when a file is chosen.
            <div className="row" role="region" aria-label={say("files.chosenFiles")}>
              <strong role="status">{chosenWords(chosen)}</strong>
              {onlyFiles && (
                <Act
                  icon="share"
                  name={say("files.share")}
                  onClick={() =>
                    props.onShare({
                      kind: "files",
                      cids: chosen.map((n) => n.cid ?? ""),
                      names: chosen.map((n) => n.name),
                      paths: chosen.map((n) => n.path),
                    })
                  }
                />
              )}
              {chosen.length === 1 && (
                <Act
                  icon="pencil"
                  name={say("files.rename")}
                  onClick={() => setRenamed(chosen[0] ? keyOf(chosen[0]) : "")}
                />
              )}
              <Act icon="folder" name={say("files.move")} onClick={() => setAsking("move")} />
              <Act icon="copy" name={say("files.copy")} onClick={() => setAsking("copy")} />
              <Act icon="trash" name={say("files.trash")} isDanger onClick={() => trash(chosen)} />
              <Act icon="close" name={say("files.clear")} onClick={clear} />
            </div>
          ) : (
            <div className="row">
              {clip && (
                <button
                  type="button"
                  className="quiet"
                  title={say("files.pasteKey")}
                  onClick={paste}
                >
                  <Icon name="clip" /> {say("files.paste", { n: clip.nodes.length })}
                </button>
              )}
              <button type="button" className="quiet" onClick={() => setAsking("folder")}>
                <Icon name="plus" /> {say("files.newFolder")}
              </button>
              <button
                type="button"
                className="quiet"
                onClick={() => props.onShare({ kind: "folder", path: folder })}
              >
                <Icon name="share" /> {say("files.shareFolder")}
              </button>
            </div>
          )}
        </div>
        <section
          ref={place}
          className="card table"
          tabIndex={-1}
          onKeyDown={(event) => {
            if (!isEmpty) return;
            if (event.key === "Backspace") up();
            if (event.key === "v" && (event.ctrlKey || event.metaKey)) paste();
          }}
          aria-busy={!list && !error}
          aria-label={say("files.filesIn", { folder })}
        >
          <Problem error={error} />
          {!list ? (
            !error && <Skeleton lines={4} label={say("files.readingFolder")} />
          ) : list.length === 0 ? (
            <div className="nothing">
              <Icon name="folder" />
              <p>{say(folder === "/" ? "files.noFiles" : "files.emptyFolder")}</p>
              <p className="soft small">{say("files.uploadSome")}</p>
            </div>
          ) : (
            <FileGrid
              label={say("files.filesIn", { folder })}
              list={list}
              selection={selection}
              onSelection={setSelection}
              isInside={isInside}
              cut={cut}
              renamed={renamed}
              acts={acts}
              thumbnails={props.thumbnails}
            />
          )}
        </section>
      </div>
      {list && list.length > 100 && (
        <p className="soft small" role="status">
          {say(isPartial ? "files.countPartial" : isCut ? "files.countCut" : "files.count", {
            n: list.length,
          })}
        </p>
      )}
      {asking === "folder" && (
        <AskDialog
          title={say("files.newFolder")}
          act={say("files.makeIt")}
          field={{ label: say("files.newFolderName"), value: "" }}
          onAct={async (name) => {
            const path = within(folder, name.replaceAll("/", " ").trim());
            await files.makeFolder(path);
            onFolder(path, { from: "" });
          }}
          onClose={() => setAsking(undefined)}
        />
      )}
      {(asking === "move" || asking === "copy") && (
        <FolderChooser
          files={files}
          act={asking}
          nodes={chosen}
          start={folder}
          onChoose={(to) => send(asking, chosen, to)}
          onClose={() => setAsking(undefined)}
        />
      )}
    </>
  );
}

function Act(props: {
  icon: "share" | "pencil" | "folder" | "copy" | "trash" | "close";
  name: string;
  isDanger?: boolean;
  onClick: () => void;
}) {
  return (
    <button
      type="button"
      className={props.isDanger ? "quiet danger" : "quiet"}
      aria-label={props.name}
      title={props.name}
      onClick={props.onClick}
    >
      <Icon name={props.icon} /> <span className="wide-only">{props.name}</span>
    </button>
  );
}

/** "2 files chosen", "3 entries chosen". */
function chosenWords(nodes: TreeNode[]): string {
  return say(nodes.every(isFile) ? "files.filesChosen" : "files.entriesChosen", {
    n: nodes.length,
  });
}

/** Whether all is known that a file's page needs. */
function isFile(node: TreeNode): node is TreeNode & FileRecord {
  return node.type === "file" && node.id !== undefined;
}
