import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useAsked } from "../../shell/asked";
import { localeNow } from "../../words";
import type { Files, TreeNode } from "./api";

/** The first entries are on the page while the others are still read: so many at a time. */
const page = 2000;

/** Entries of one folder that are shown; a browser draws no page that is taller. */
const most = 200_000;

type Order = (a: TreeNode, b: TreeNode) => number;

/** Folders first, names as the reader's language orders them, and what is numbered in the order of its numbers. */
export function order(): Order {
  const byName = new Intl.Collator(localeNow(), { numeric: true });
  return (a, b) =>
    a.type === b.type ? byName.compare(a.name, b.name) : a.type === "folder" ? -1 : 1;
}

/** What a row is known by: a file and a folder may have the same path. */
export function keyOf({ path, type }: TreeNode): string {
  return type === "folder" ? `${path}/` : path;
}

/**
 * A sorted list with some more in it. Each of those looks for its place, so that a page costs the
 * same at the beginning and at the end of a large folder.
 */
export function merged(sorted: readonly TreeNode[], some: readonly TreeNode[]): TreeNode[] {
  const inOrder = order();
  const more = [...some].sort(inOrder);
  const out: TreeNode[][] = [];
  let from = 0;
  let run: TreeNode[] = [];
  for (const node of more) {
    const at = placeOf(sorted, node, from, inOrder);
    if (at > from) {
      out.push(run, sorted.slice(from, at));
      run = [];
      from = at;
    }
    run.push(node);
  }
  return out.concat([run, sorted.slice(from)]).flat();
}

/** Where a node belongs, from a place on that is not behind it. */
function placeOf(
  sorted: readonly TreeNode[],
  node: TreeNode,
  from: number,
  inOrder: Order,
): number {
  let low = from;
  let high = sorted.length;
  const last = sorted[high - 1];
  if (last && inOrder(last, node) <= 0) return high;
  while (low < high) {
    const middle = (low + high) >> 1;
    const there = sorted[middle];
    if (there && inOrder(there, node) <= 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

export interface Listing {
  list: TreeNode[] | undefined;
  /** Whether more is still read. */
  isPartial: boolean;
  /** Whether the folder holds more than is shown. */
  isCut: boolean;
  error: string;
}

/** What is in a folder. */
export function useListing(files: Files, folder: string): Listing {
  const queries = useQueryClient();
  const [part, setPart] = useState<TreeNode[]>();
  const key = ["folder", folder];
  const { data, error } = useAsked({
    queryKey: key,
    // A hundred thousand entries are not compared one by one with those that were there.
    structuralSharing: false,
    queryFn: async ({ signal }) => {
      const isFirst = queries.getQueryData(key) === undefined;
      let list: TreeNode[] = [];
      for (let after = ""; ;) {
        const { nodes, next } = await files.page(folder, after, page, signal);
        signal.throwIfAborted();
        list = merged(list, nodes);
        if (!next || list.length >= most) return { list, isCut: next !== undefined };
        if (isFirst) setPart(list);
        after = next;
      }
    },
  });
  return {
    list: data?.list ?? part,
    isPartial: !data && !error && part !== undefined,
    isCut: data?.isCut ?? false,
    error,
  };
}
