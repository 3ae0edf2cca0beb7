import { RequestError } from "@castalia/oracles-client";
import { FilesError, type TreeNode } from "./api";

/** What becomes of things whose name is taken where they go. */
export type Policy = "replace" | "both" | "skip";

/** Asks what becomes of them, once for all; nothing is an answer too: then nothing is done with them. */
export type Ask = (names: string[]) => Promise<Policy | undefined>;

/** Whether something may be at the destination: nothing, or what is there goes to the trash, a folder with all in it. */
export type Onto = "nothing" | "replace";

/** What moves and copies need of the store. */
export interface Mover {
  move: (from: string, to: string, onto?: Onto) => Promise<void>;
  copy: (from: string, to: string, onto?: Onto) => Promise<void>;
  /** When what is in the trash of a path came there last; undefined when nothing of it is there. */
  lastTrashed: (path: string) => Promise<string | undefined>;
  /** Brings back what came from a path into the trash then. */
  restoreAt: (path: string, when: string | undefined) => Promise<void>;
}

/** What is at another place now. */
export interface Sent {
  node: TreeNode;
  to: string;
  /** What had its place before is in the trash, since then. */
  replaced?: { when: string | undefined };
  /** It was taken back, and what it replaced was not yet. */
  isBack?: boolean;
}

/** What became of many things that something was to be done with. */
export interface Ended {
  /** What was refused, and the first refusal. */
  failed: TreeNode[];
  cause?: unknown;
  /** For what no answer came: it was done, or not. */
  unsure: TreeNode[];
  /** What was not begun, since no answers came any more. */
  left: TreeNode[];
}

export interface Transferred extends Ended {
  done: Sent[];
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
 * Does something with each of many, a few at a time. What is refused keeps nothing else from being
 * done; when no answers come any more, nothing else is begun.
 */
export async function each(
  nodes: readonly TreeNode[],
  act: (node: TreeNode) => Promise<void>,
): Promise<Ended> {
  const queue = [...nodes];
  const ended: Ended = { failed: [], unsure: [], left: [] };
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      try {
        await act(next);
      } catch (cause) {
        ended.cause ??= cause;
        if (cause instanceof FilesError) ended.failed.push(next);
        else {
          ended.unsure.push(next);
          ended.left.push(...queue.splice(0));
        }
      }
    }
  };
  await Promise.all(Array.from({ length: lines }, work));
  return ended;
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
  const done: Sent[] = [];
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
    if (policy === "replace") {
      const when = await trashedBy(store, to, () => store[act](node.path, to, "replace"));
      done.push({ node, to, replaced: { when } });
      return;
    }
    try {
      await store[act](node.path, to);
      done.push({ node, to });
    } catch (cause) {
      if (!isTaken(cause)) throw cause;
      met.push(node);
    }
  }
  const first = await each(nodes, one);
  if (met.length === 0) return { done, skipped: 0, ...first };
  const policy = await ask(met.map((n) => n.name));
  if (policy === undefined || policy === "skip") return { done, skipped: met.length, ...first };
  const then = await each(met, (node) => one(node, policy));
  return {
    done,
    skipped: 0,
    cause: first.cause ?? then.cause,
    failed: [...first.failed, ...then.failed],
    unsure: [...first.unsure, ...then.unsure],
    left: [...first.left, ...then.left],
  };
}

/**
 * When an act put into the trash what was at a path; undefined when nothing of it went there, as of
 * an empty folder. What was there before is older, and is not taken for it.
 */
export async function trashedBy(
  store: Pick<Mover, "lastTrashed">,
  path: string,
  act: () => Promise<void>,
): Promise<string | undefined> {
  const before = await store.lastTrashed(path);
  await act();
  const after = await store.lastTrashed(path);
  return after === before ? undefined : after;
}

/**
 * Takes moves back, the last first, and brings back what they replaced. What cannot go back stays
 * where it is and in the list, so that it can be tried again; nothing else is touched.
 */
export async function takeBack(store: Mover, done: Sent[]): Promise<void> {
  let refusal: FilesError | undefined;
  for (const sent of [...done].reverse()) {
    try {
      if (!sent.isBack) await store.move(sent.to, sent.node.path);
      sent.isBack = true;
      if (sent.replaced) await store.restoreAt(sent.to, sent.replaced.when);
      done.splice(done.indexOf(sent), 1);
    } catch (cause) {
      if (!(cause instanceof FilesError)) throw cause;
      refusal ??= cause;
    }
  }
  if (refusal) throw refusal;
}
