import { expect, test } from "vitest";
import { FilesError, type TreeNode } from "./api";
import { beside, transfer, type Policy } from "./transfer";

const file = (path: string): TreeNode => ({
  path,
  name: path.slice(path.lastIndexOf("/") + 1),
  type: "file",
});

/** A store that knows which paths are taken. */
function store(...taken: string[]) {
  const at = new Set(taken);
  const put = (remove: boolean) => async (from: string, to: string, overwrite?: boolean) => {
    if (at.has(to) && !overwrite) throw new FilesError(409, "a file already exists at this path");
    at.add(to);
    if (remove) at.delete(from);
  };
  return { at, move: put(true), copy: put(false) };
}

test("names beside a taken one keep the end of the name", () => {
  expect(beside("/a/report.txt", 2)).toBe("/a/report (2).txt");
  expect(beside("/a.b/Plans", 3)).toBe("/a.b/Plans (3)");
  expect(beside("/.profile", 2)).toBe("/.profile (2)");
});

test.each<[Policy | undefined, string[], number]>([
  ["replace", ["/b/x.txt", "/b/y.txt"], 0],
  ["both", ["/b/x (2).txt", "/b/x.txt", "/b/y.txt"], 0],
  ["skip", ["/a/x.txt", "/b/x.txt", "/b/y.txt"], 1],
  [undefined, ["/a/x.txt", "/b/x.txt", "/b/y.txt"], 1],
])(
  "what meets something is asked about once, and %s is done with all",
  async (policy, want, skipped) => {
    const files = store("/a/x.txt", "/a/y.txt", "/b/x.txt");
    const asked: string[][] = [];
    const { done, ...rest } = await transfer(
      files,
      "move",
      [file("/a/x.txt"), file("/a/y.txt")],
      "/b",
      async (names) => {
        asked.push(names);
        return policy;
      },
    );
    expect(asked).toEqual([["x.txt"]]);
    expect([...files.at].sort()).toEqual(want);
    expect(rest.skipped).toBe(skipped);
    expect(done).toHaveLength(2 - skipped);
  },
);

test("a copy beside itself gets another name unasked, and a move to where it is does nothing", async () => {
  const files = store("/x.txt", "/x (2).txt");
  const never = () => Promise.reject(new Error("asked"));
  await transfer(files, "copy", [file("/x.txt")], "/", never);
  expect([...files.at]).toContain("/x (3).txt");
  expect((await transfer(files, "move", [file("/x.txt")], "/", never)).done).toEqual([]);
});
