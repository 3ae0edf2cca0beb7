import { useEffect, useMemo, useRef, type KeyboardEvent, type RefObject } from "react";
import type { TreeNode } from "./api";
import { FileRow, type RowActs } from "./FileRow";
import { keyOf } from "./listing";
import { activeIndex, pick, pickAll, typedAhead, type Selection, type Way } from "./selection";
import type { Thumbnails } from "./thumbnails";
import { useRowHeight, useVisible } from "./visible";
import { say } from "../../words";

/** What the keys of a file manager ask for. The list itself does what concerns the list. */
export interface GridActs {
  open: (node: TreeNode) => void;
  trash: (node: TreeNode) => void;
  /** All that is chosen, or where nothing is, this one. */
  trashChosen: (node: TreeNode) => void;
  startRename: (node: TreeNode) => void;
  rename: (node: TreeNode, name?: string) => void;
  copy: () => void;
  cut: () => void;
  paste: () => void;
  up: () => void;
  drag: RowActs["drag"];
  over: (node: TreeNode, event: React.DragEvent) => boolean;
  drop: (node: TreeNode, event: React.DragEvent) => void;
}

/** Letters that follow each other within this time are one word. */
const pause = 800;

/**
 * The entries of a folder as a grid of rows, of which those in sight are drawn. One row has the
 * focus; it stays drawn wherever the list is scrolled, or whoever uses keys would lose their place.
 */
export function FileGrid(props: {
  label: string;
  list: TreeNode[];
  selection: Selection;
  onSelection: (change: (was: Selection) => Selection) => void;
  /** Who came by a key goes on by keys. */
  isInside: RefObject<boolean>;
  cut: ReadonlySet<string>;
  renamed: string;
  acts: GridActs;
  thumbnails: Thumbnails;
}) {
  const { list, selection, onSelection } = props;
  const height = useRowHeight();
  const { list: body, from, to } = useVisible(list.length, height);
  const grid = useRef<HTMLDivElement>(null);
  const { isInside } = props;
  const typed = useRef({ text: "", at: 0 });
  const active = activeIndex(selection, list);
  const stop = Math.max(active, 0);

  // What rows call; they are not drawn anew when the list is.
  const latest = useRef(props);
  useEffect(() => {
    latest.current = props;
  });
  const acts = useMemo<RowActs>(() => {
    const at = (index: number) => latest.current.list[index];
    const go = (index: number, way: Way) => {
      const { list } = latest.current;
      latest.current.onSelection((was) => pick(was, list, index, way));
    };
    const on = (index: number, act: (node: TreeNode) => void) => {
      const node = at(index);
      if (node) act(node);
    };
    return {
      pick: (index, event) =>
        go(index, event.shiftKey ? "extend" : event.ctrlKey || event.metaKey ? "toggle" : "only"),
      toggle: (index) => go(index, "toggle"),
      open: (index) => {
        go(index, "walk");
        on(index, latest.current.acts.open);
      },
      trash: (index) => on(index, latest.current.acts.trash),
      rename: (index, name) => on(index, (node) => latest.current.acts.rename(node, name)),
      drag: (index, event) => latest.current.acts.drag(index, event),
      over: (index, event) => {
        const node = at(index);
        return node !== undefined && latest.current.acts.over(node, event);
      },
      drop: (index, event) => on(index, (node) => latest.current.acts.drop(node, event)),
    };
  }, []);

  // The focus follows the active row, and comes back when the row that had it is gone.
  const renamed = props.renamed && list.some((n) => keyOf(n) === props.renamed);
  useEffect(() => {
    const { activeElement: has } = document;
    // Or it is on what is around the list, which was empty until now.
    const isLost = has === null || has.contains(grid.current);
    if (renamed || !isInside.current || !(isLost || grid.current?.contains(has))) return;
    const row = grid.current?.querySelector<HTMLElement>(`[data-index="${stop}"]`);
    if (!row) return;
    // A box that was clicked keeps it, until keys lead to another row.
    if (has instanceof HTMLInputElement && has.type === "checkbox" && isWithin(has, row)) return;
    row.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }, [stop, selection.active, list, renamed, isInside]);
  // And when a bar or a button goes away that had it: nothing moves by that.
  useEffect(() => {
    if (renamed || !isInside.current || document.activeElement !== document.body) return;
    grid.current
      ?.querySelector<HTMLElement>(`[data-index="${stop}"]`)
      ?.focus({ preventScroll: true });
  }, [stop, selection, renamed, isInside]);

  function onKeyDown(event: KeyboardEvent<HTMLElement>) {
    if (event.nativeEvent.isComposing || list.length === 0) return;
    const { key, altKey, shiftKey } = event;
    const mod = event.ctrlKey || event.metaKey;
    const node = list[stop];
    // The box that chooses all does what boxes do.
    if (key === " " && (event.target as Element).closest(".head")) return;
    const acts = props.acts;
    const done = () => {
      event.preventDefault();
      event.stopPropagation();
    };
    if (altKey) {
      if (key !== "ArrowUp") return;
      done();
      return acts.up();
    }
    const rows = Math.max(1, Math.floor(innerHeight / height) - 4);
    const target = {
      ArrowDown: active + (selection.active === "" ? 0 : 1),
      ArrowUp: stop - 1,
      PageDown: stop + rows,
      PageUp: stop - rows,
      Home: 0,
      End: list.length - 1,
    }[key];
    if (target !== undefined) {
      done();
      const index = Math.min(Math.max(target, 0), list.length - 1);
      return onSelection((was) =>
        pick(was, list, index, shiftKey ? "extend" : mod ? "walk" : "only"),
      );
    }
    const isTyping = Date.now() - typed.current.at < pause && typed.current.text !== "";
    const does: Record<string, (() => void) | undefined> = mod
      ? {
          a: () => onSelection((was) => pickAll(was, list)),
          c: acts.copy,
          x: acts.cut,
          v: acts.paste,
          // As on a Mac, where the key of that name is Backspace.
          backspace:
            event.metaKey && node && !event.repeat ? () => acts.trashChosen(node) : undefined,
          " ": () => onSelection((was) => pick(was, list, stop, "toggle")),
        }
      : {
          Enter: () => node && acts.open(node),
          F2: () => node && acts.startRename(node),
          // One that is held down does not throw away what comes into its place.
          Delete: () => node && !event.repeat && acts.trashChosen(node),
          Backspace: acts.up,
          Escape:
            selection.chosen.size > 0
              ? () => onSelection((was) => ({ ...was, anchor: "", chosen: new Set() }))
              : undefined,
          " ": isTyping
            ? undefined
            : () => onSelection((was) => pick(was, list, stop, shiftKey ? "extend" : "toggle")),
        };
    const act = does[mod ? key.toLowerCase() : key];
    if (act) {
      done();
      return act();
    }
    // The signs that search and explain work here too.
    if (mod || key.length !== 1 || key === "/" || key === "?") return;
    done();
    const text = (isTyping ? typed.current.text : "") + key;
    typed.current = { text, at: Date.now() };
    const found = typedAhead(list, selection.active === "" ? -1 : stop, text);
    if (found >= 0) onSelection((was) => pick(was, list, found, "only"));
  }

  const rows = [];
  if (stop < from) rows.push(stop);
  for (let i = from; i < to; i++) rows.push(i);
  if (stop >= to) rows.push(stop);
  const isAll =
    list.length > 0 &&
    list.length <= selection.chosen.size &&
    list.every((n) => selection.chosen.has(keyOf(n)));
  return (
    <div
      ref={grid}
      role="grid"
      className="file-grid"
      aria-label={props.label}
      aria-multiselectable
      aria-rowcount={list.length + 1}
      onKeyDown={onKeyDown}
      onFocus={(event) => {
        const index = Number((event.target as HTMLElement).dataset["index"] ?? NaN);
        if (list[index] && (index !== active || selection.active === "")) {
          onSelection((was) => pick(was, list, index, "walk"));
        }
      }}
    >
      <div role="row" aria-rowindex={1} className="file-row head">
        <div role="columnheader" className="check">
          <label>
            <input
              type="checkbox"
              aria-label={say("files.chooseAll", { n: list.length })}
              checked={isAll}
              onChange={() =>
                onSelection((was) => (isAll ? { ...was, chosen: new Set() } : pickAll(was, list)))
              }
            />
          </label>
        </div>
        <div role="columnheader" className="file-name">
          {say("files.name")}
        </div>
        <div role="columnheader" className="number wide-only">
          {say("files.size")}
        </div>
        <div role="columnheader" className="wide-only">
          {say("files.changed")}
        </div>
        <div role="columnheader" className="wide-only">
          {say("files.cid")}
        </div>
        <div role="columnheader">
          <span className="visually-hidden">{say("files.actions")}</span>
        </div>
      </div>
      <div
        ref={body}
        role="rowgroup"
        className="file-rows"
        style={{ height: `${list.length * height}px` }}
      >
        {rows.map((index) => {
          const node = list[index];
          if (!node) return null;
          const key = keyOf(node);
          return (
            <FileRow
              key={key}
              node={node}
              index={index}
              height={height}
              isChosen={selection.chosen.has(key)}
              isStop={index === stop}
              isCut={props.cut.has(key)}
              isRenamed={props.renamed === key}
              acts={acts}
              thumbnails={props.thumbnails}
            />
          );
        })}
      </div>
    </div>
  );
}

/** Whether a box is in the row, or in none: at the head. */
function isWithin(box: Element, row: Element): boolean {
  return row.contains(box) || box.closest(".head") !== null;
}
