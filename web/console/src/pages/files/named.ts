import type { TreeNode } from "./api";

/**
 * Folders that were named here and hold nothing yet. The store knows a folder by
 * the files in it, so until there is one this browser remembers.
 */
const key = (owner: string) => `castalia-folders ${owner}`;

const most = 100;

function read(owner: string): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key(owner)) ?? "[]");
    return Array.isArray(kept) ? kept.filter((p): p is string => typeof p === "string") : [];
  } catch {
    return [];
  }
}

export function remember(owner: string, path: string): void {
  const kept = [...read(owner).filter((p) => p !== path), path].slice(-most);
  try {
    localStorage.setItem(key(owner), JSON.stringify(kept));
  } catch {
    // A full storage forgets an empty folder, nothing more.
  }
}

/** The remembered folders in a folder, but those that the store knows by now. */
export function named(owner: string, folder: string, nodes: TreeNode[]): TreeNode[] {
  const base = folder === "/" ? "/" : `${folder}/`;
  const known = new Set(nodes.map((n) => n.path));
  const names = read(owner)
    .filter((path) => path.startsWith(base))
    .map((path) => path.slice(base.length).split("/")[0] ?? "");
  return [...new Set(names)]
    .filter((name) => name !== "" && !known.has(base + name))
    .map((name) => ({ path: base + name, name, type: "folder" }));
}
