import type { TreeNode } from "./api";
import { keyOf } from "./listing";

/** What is chosen in a list, and where the keyboard stands in it. */
export interface Selection {
  /** The row that has the focus, by its key, and where it stood. */
  active: string;
  at: number;
  /** Where a range begins. */
  anchor: string;
  chosen: ReadonlySet<string>;
}

export const nothing: Selection = { active: "", at: 0, anchor: "", chosen: new Set() };

/**
 * Only: this one and no other. Extend: all from the anchor to here. Toggle: this one more, or not
 * any more. Walk: the focus goes there and nothing is chosen by that.
 */
export type Way = "only" | "extend" | "toggle" | "walk";

/** Goes to a row. */
export function pick(was: Selection, list: readonly TreeNode[], at: number, way: Way): Selection {
  const node = list[at];
  if (!node) return was;
  const active = keyOf(node);
  if (way === "walk") return { ...was, active, at };
  if (way === "only") return { active, at, anchor: active, chosen: new Set([active]) };
  if (way === "toggle") {
    const chosen = new Set(was.chosen);
    if (!chosen.delete(active)) chosen.add(active);
    return { active, at, anchor: active, chosen };
  }
  // Where nothing was chosen, or what was is gone, a range begins where the focus is.
  const found = list.findIndex((n) => keyOf(n) === was.anchor);
  const from = found >= 0 ? found : was.active === "" ? at : activeIndex(was, list);
  const range = list.slice(Math.min(from, at), Math.max(from, at) + 1);
  const anchor = list[from];
  return {
    active,
    at,
    anchor: anchor ? keyOf(anchor) : active,
    chosen: new Set(range.map(keyOf)),
  };
}

export function pickAll(was: Selection, list: readonly TreeNode[]): Selection {
  return { ...was, chosen: new Set(list.map(keyOf)) };
}

/** Where the focus is: at its row, or where that was when it is gone. */
export function activeIndex(was: Selection, list: readonly TreeNode[]): number {
  // Mostly it is where it was.
  const there = list[was.at];
  if (there && keyOf(there) === was.active) return was.at;
  const found = list.findIndex((n) => keyOf(n) === was.active);
  return found >= 0 ? found : Math.min(was.at, list.length - 1);
}

/** What is chosen and still there, in the order of the list. */
export function picked({ chosen }: Selection, list: readonly TreeNode[]): TreeNode[] {
  return chosen.size === 0 ? [] : list.filter((n) => chosen.has(keyOf(n)));
}

/** The row whose name begins with what was typed: the next one, when it is a single letter, or one again and again. */
export function typedAhead(list: readonly TreeNode[], from: number, typed: string): number {
  const found = beginning(list, from, typed);
  const [first = ""] = typed;
  const isOne = typed.length > 1 && [...typed].every((letter) => letter === first);
  return found < 0 && isOne ? beginning(list, from, first) : found;
}

function beginning(list: readonly TreeNode[], from: number, typed: string): number {
  const begin = typed.toLowerCase();
  const start = begin.length === 1 ? from + 1 : Math.max(from, 0);
  for (let i = 0; i < list.length; i++) {
    const at = (start + i) % list.length;
    if (list[at]?.name.toLowerCase().startsWith(begin)) return at;
  }
  return -1;
}
