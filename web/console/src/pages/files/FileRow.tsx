import { memo, useEffect, useRef, useState, type DragEvent, type MouseEvent } from "react";
import { ago, bytes, short } from "../../shell/format";
import { Icon } from "../../shell/icons";
import type { TreeNode } from "./api";
import type { Thumbnails } from "./thumbnails";
import { say } from "../../words";

/** What rows tell their list. One object for all of them, so that they are drawn only when they change. */
export interface RowActs {
  pick: (index: number, event: { shiftKey: boolean; ctrlKey: boolean; metaKey: boolean }) => void;
  toggle: (index: number) => void;
  open: (index: number) => void;
  trash: (index: number) => void;
  /** The new name; undefined leaves it as it is. */
  rename: (index: number, name?: string) => void;
  drag: (index: number, event: DragEvent) => void;
  /** Whether the row takes what is dragged over it. */
  over: (index: number, event: DragEvent) => boolean;
  drop: (index: number, event: DragEvent) => void;
}

/** One entry of a folder. */
export const FileRow = memo(function FileRow(props: {
  node: TreeNode;
  index: number;
  height: number;
  isChosen: boolean;
  /** Whether the tabulator leads here. */
  isStop: boolean;
  isCut: boolean;
  isRenamed: boolean;
  acts: RowActs;
  thumbnails: Thumbnails;
}) {
  const { node, index, acts, isChosen } = props;
  const [isOver, setOver] = useState(false);
  const isFolder = node.type === "folder";
  const classes = ["file-row", isChosen && "chosen", props.isCut && "cut", isOver && "over"];
  const isModified = (event: MouseEvent) => event.shiftKey || event.ctrlKey || event.metaKey;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isChosen}
      aria-label={isFolder ? say("files.folderNamed", { name: node.name }) : node.name}
      tabIndex={props.isStop ? 0 : -1}
      data-index={index}
      className={classes.filter(Boolean).join(" ")}
      style={{ transform: `translateY(${index * props.height}px)` }}
      draggable={!props.isRenamed}
      onClick={(event) => {
        const target = event.target as Element;
        if (!target.closest("button, input, label")) acts.pick(index, event);
      }}
      onDoubleClick={(event) => {
        if (!(event.target as Element).closest("button, input, label")) acts.open(index);
      }}
      onDragStart={(event) => acts.drag(index, event)}
      onDragOver={(event) => {
        if (!isFolder) return;
        const takes = acts.over(index, event);
        if (takes) event.preventDefault();
        setOver(takes);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        setOver(false);
        if (isFolder) acts.drop(index, event);
      }}
    >
      <div role="gridcell" className="check">
        <label>
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={say("files.choose", { name: node.name })}
            checked={isChosen}
            onChange={() => acts.toggle(index)}
          />
        </label>
      </div>
      <div role="gridcell" className="file-name">
        {props.isRenamed ? (
          <RenameField name={node.name} onDone={(name) => acts.rename(index, name)} />
        ) : (
          <>
            <button
              type="button"
              tabIndex={-1}
              className="quiet name"
              title={isFolder ? say("files.openFolder") : node.name}
              onClick={(event) => {
                // The second click of two would open what the first one brought here.
                if (event.detail > 1) return;
                if (isModified(event)) acts.pick(index, event);
                else acts.open(index);
              }}
            >
              <span className="pictured">
                <Picture node={node} thumbnails={props.thumbnails} />
              </span>
              <span className="called" dir="auto">
                {node.name}
              </span>
            </button>
            {node.size !== undefined && (
              <span className="narrow-only soft small under-name">
                {[bytes(node.size), changed(node)].filter(Boolean).join(" · ")}
              </span>
            )}
          </>
        )}
      </div>
      <div role="gridcell" className="number wide-only">
        {node.size === undefined ? "" : bytes(node.size)}
      </div>
      <div role="gridcell" className="wide-only soft nobreak">
        {changed(node)}
      </div>
      <div role="gridcell" className="wide-only mono nobreak">
        {node.cid && short(node.cid)}
      </div>
      <div role="gridcell" className="number">
        <button
          type="button"
          tabIndex={-1}
          className="quiet"
          aria-label={say("files.trashOne", { name: node.name })}
          title={say("files.trashKey")}
          onClick={() => acts.trash(index)}
        >
          <Icon name="trash" />
        </button>
      </div>
    </div>
  );
});

/** What a file looks like: itself made small, or a drawing of its kind. */
function Picture({ node, thumbnails }: { node: TreeNode; thumbnails: Thumbnails }) {
  const [made, setMade] = useState<{ cid?: string | undefined; address?: string | undefined }>({});
  useEffect(() => {
    let isGone = false;
    void thumbnails.of(node)?.then((address) => {
      if (!isGone) setMade({ cid: node.cid, address });
    });
    return () => {
      isGone = true;
    };
  }, [node, thumbnails]);
  if (made.address && made.cid === node.cid)
    return <img className="thumbnail" src={made.address} alt="" />;
  return <Icon name={iconOf(node)} />;
}

/** A name that is being changed where it stands. Enter takes it, Escape and going away leave it. */
function RenameField({ name, onDone }: { name: string; onDone: (name?: string) => void }) {
  const field = useRef<HTMLInputElement>(null);
  const isOver = useRef(false);
  useEffect(() => {
    const dot = name.lastIndexOf(".");
    field.current?.focus();
    // The end of a name, ".txt" or so, mostly stays.
    field.current?.setSelectionRange(0, dot > 0 ? dot : name.length);
  }, [name]);
  function end(text?: string) {
    if (isOver.current) return;
    isOver.current = true;
    onDone(text);
  }
  return (
    <input
      ref={field}
      className="rename"
      aria-label={say("files.newName", { name })}
      dir="auto"
      defaultValue={name}
      autoComplete="off"
      spellCheck={false}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.nativeEvent.isComposing) return;
        if (event.key === "Enter") end(event.currentTarget.value);
        if (event.key === "Escape") end();
      }}
      onBlur={() => end()}
    />
  );
}

/** When it was changed, and how often if more than once. */
function changed({ updatedAt, version = 1 }: TreeNode): string {
  if (!updatedAt) return "";
  return version > 1
    ? say("files.versioned", { when: ago(updatedAt), version: String(version) })
    : ago(updatedAt);
}

function iconOf(node: TreeNode) {
  if (node.type === "folder") return "folder";
  return node.mimeType?.startsWith("image/") ? "image" : "file";
}
