import { RequestError } from "@castalia/oracles-client";
import { FilesError, type TreeNode } from "./api";

/** What becomes of things whose name is taken where they go. */
export type Policy = "replace" | "both" | "skip";

/** Asks what becomes of them, once for all; nothing is an answer too: then nothing is done with them. */
export type Ask = (names: string[]) => Promise<Policy | undefined>;

/** What moves and copies need of the store. */
export interface Mover {
  move: (from: string, to: string, overwrite?: boolean) => Promise<void>;
  copy: (from: string, to: string, overwrite?: boolean) => Promise<void>;
}

export interface Transferred {
  /** What is at another place now. */
  done: { node: TreeNode; to: string }[];
  skipped: number;
}

/** How many names are tried beside one that is taken. */
const tries = 100;

/** So many at once. */
const lines = 4;

/** "report.txt" beside "report.txt" is "report (2).txt". */
export function beside(path: string, number: number): string {
  const slash = path.lastIndexOf("/") + 1;
  const name = path.slice(slash);
  const dot = name.lastIndexOf(".");
  const [stem, end] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
  return `${path.slice(0, slash)}${stem} (${number})${end}`;
}

export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

export function within(folder: string, name: string): string {
  return `${folder === "/" ? "" : folder}/${name}`;
}

export function isTaken(cause: unknown): boolean {
  if (cause instanceof RequestError) return cause.status === 409; // of an upload
  return cause instanceof FilesError && cause.isTaken;
}

/** Tries names beside a path until one is free. */
export async function untilFree(
  path: string,
  store: (path: string) => Promise<void>,
): Promise<string> {
  for (let number = 2; ; number++) {
    const to = beside(path, number);
    try {
      await store(to);
      return to;
    } catch (cause) {
      if (!isTaken(cause) || number > tries) throw cause;
    }
  }
}

/**
 * Moves or copies things into a folder. What meets nothing goes first; then there is one question
 * for all the others. What is copied to where it is gets a name beside itself, unasked.
 */
export async function transfer(
  store: Mover,
  act: "move" | "copy",
  nodes: readonly TreeNode[],
  folder: string,
  ask: Ask,
): Promise<Transferred> {
  const done: Transferred["done"] = [];
  const met: TreeNode[] = [];
  async function one(node: TreeNode, policy?: Policy) {
    const to = within(folder, node.name);
    const isHere = to === node.path;
    if (isHere && act === "move") return;
    if (isHere || policy === "both") {
      const free = await untilFree(to, (path) => store[act](node.path, path));
      done.push({ node, to: free });
      return;
    }
    try {
      await store[act](node.path, to, policy === "replace");
      done.push({ node, to });
    } catch (cause) {
      if (policy || !isTaken(cause)) throw cause;
      met.push(node);
    }
  }
  async function all(some: readonly TreeNode[], policy?: Policy) {
    const queue = [...some];
    const work = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) await one(next, policy);
    };
    await Promise.all(Array.from({ length: lines }, work));
  }
  await all(nodes);
  if (met.length === 0) return { done, skipped: 0 };
  const policy = await ask(met.map((n) => n.name));
  if (policy === undefined || policy === "skip") return { done, skipped: met.length };
  await all(met.splice(0), policy);
  return { done, skipped: 0 };
}
