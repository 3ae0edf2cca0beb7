import { expect, test } from "vitest";
import type { TreeNode } from "./api";
import { order, merged } from "./listing";

const file = (name: string): TreeNode => ({ path: `/${name}`, name, type: "file" });
const folder = (name: string): TreeNode => ({ path: `/${name}`, name, type: "folder" });
const names = (list: TreeNode[]) => list.map((n) => n.name);

test("pages in the store's order become one list: folders first, numbers by their size", () => {
  const first = merged([], [file("a10"), file("a2"), folder("b")]);
  expect(names(first)).toEqual(["b", "a2", "a10"]);
  expect(names(merged(first, [folder("a"), file("a3"), file("z")]))).toEqual([
    "a",
    "b",
    "a2",
    "a3",
    "a10",
    "z",
  ]);
  expect(merged(first, [])).toEqual(first);
});

test("merging gives what sorting gives, however the pages are cut", () => {
  const all = Array.from({ length: 500 }, (_, i) =>
    i % 7 === 0 ? folder(`n${(i * 37) % 500}`) : file(`n${(i * 37) % 500}`),
  );
  let list: TreeNode[] = [];
  for (let i = 0; i < all.length; i += 60) list = merged(list, all.slice(i, i + 60));
  expect(names(list)).toEqual(names([...all].sort(order())));
});
