import { expect, test } from "vitest";
import { FilesError, type TreeNode } from "./api";
import { beside, takeBack, transfer, type Onto, type Policy } from "./transfer";

const file = (path: string): TreeNode => ({
  path,
  name: path.slice(path.lastIndexOf("/") + 1),
  type: "file",
});

const folder = (path: string): TreeNode => ({ ...file(path), type: "folder" });

/** A store of paths: folders are what is above them, as in the real one. */
function store(...taken: string[]) {
  const at = new Set(taken);
  const trash: { path: string; when: string }[] = [];
  let clock = 0;
  const isBelow = (path: string, root: string) => path === root || path.startsWith(`${root}/`);
  const put = (remove: boolean) => async (from: string, to: string, onto?: Onto) => {
    const there = [...at].filter((path) => isBelow(path, to));
    if (there.length > 0 && onto !== "replace") throw new FilesError(409, "Destination occupied");
    const when = String(++clock);
    for (const path of there) {
      at.delete(path);
      trash.push({ path, when });
    }
    for (const path of [...at].filter((path) => isBelow(path, from))) {
      at.add(to + path.slice(from.length));
      if (remove) at.delete(path);
    }
  };
  return {
    at,
    trash,
    move: put(true),
    copy: put(false),
    lastTrashed: async (path: string) => trash.findLast((t) => isBelow(t.path, path))?.when,
    restoreAt: async (path: string, when: string | undefined) => {
      for (const one of trash.filter((t) => t.when === when && isBelow(t.path, path))) {
        trash.splice(trash.indexOf(one), 1);
        at.add(one.path);
      }
    },
  };
}
const never = () => Promise.reject(new Error("asked"));

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
    const { done, skipped: left } = await transfer(
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
    expect(left).toBe(skipped);
    expect(done).toHaveLength(2 - skipped);
  },
);

test("a copy beside itself gets another name unasked, and a move to where it is does nothing", async () => {
  const files = store("/x.txt", "/x (2).txt");
  await transfer(files, "copy", [file("/x.txt")], "/", never);
  expect([...files.at]).toContain("/x (3).txt");
  expect((await transfer(files, "move", [file("/x.txt")], "/", never)).done).toEqual([]);
});

test.each<["move" | "copy"]>([["move"], ["copy"]])(
  "folders of one name are not put together by a %s unless somebody is asked",
  async (act) => {
    const files = store("/a/Box/new", "/b/Box/old");
    const answer = await transfer(files, act, [folder("/a/Box")], "/b", () =>
      Promise.resolve("skip"),
    );
    expect(answer).toMatchObject({ done: [], skipped: 1 });
    expect([...files.at].sort()).toEqual(["/a/Box/new", "/b/Box/old"]);
    await transfer(files, act, [folder("/a/Box")], "/b", () => Promise.resolve("both"));
    expect([...files.at]).toContain("/b/Box (2)/new");
    expect([...files.at]).toContain("/b/Box/old");
  },
);

test("a move that replaced a folder is taken back with what it replaced, and nothing else", async () => {
  const files = store("/a/Box/new", "/b/Box/old", "/b/Box/deep/older");
  // Something of that name was in the trash before.
  files.trash.push({ path: "/b/Box/ancient", when: "0" });
  const { done } = await transfer(files, "move", [folder("/a/Box")], "/b", () =>
    Promise.resolve("replace"),
  );
  expect([...files.at]).toEqual(["/b/Box/new"]);
  await takeBack(files, done);
  expect([...files.at].sort()).toEqual(["/a/Box/new", "/b/Box/deep/older", "/b/Box/old"]);
  expect(files.trash).toEqual([{ path: "/b/Box/ancient", when: "0" }]);
});

test("what cannot be taken back is tried again, and what was taken back is not", async () => {
  const files = store("/a/x", "/a/y");
  const { done } = await transfer(files, "move", [file("/a/x"), file("/a/y")], "/b", never);
  files.at.add("/a/y"); // somebody else put one there
  await expect(takeBack(files, done)).rejects.toThrow("occupied");
  expect([...files.at].sort()).toEqual(["/a/x", "/a/y", "/b/y"]);
  files.at.delete("/a/y");
  await takeBack(files, done);
  expect([...files.at].sort()).toEqual(["/a/x", "/a/y"]);
  expect(done).toEqual([]);
});

test("a refusal keeps nothing else from moving, and a line that breaks begins nothing more", async () => {
  const files = store(...Array.from({ length: 20 }, (_, i) => `/a/${i}`));
  const nodes = [...files.at].map(file);
  let asked = 0;
  const line = {
    ...files,
    move: async (from: string, to: string, onto?: Onto) => {
      if (from === "/a/0") throw new FilesError(403, "not yours");
      if (++asked > 8) throw new TypeError("Failed to fetch");
      await files.move(from, to, onto);
    },
  };
  const ended = await transfer(line, "move", nodes, "/b", never);
  expect(ended.failed.map((n) => n.path)).toEqual(["/a/0"]);
  expect(ended.done).toHaveLength(8);
  expect(ended.unsure.length).toBeGreaterThan(0);
  expect(ended.done.length + ended.unsure.length + ended.left.length).toBe(19);
  expect(asked).toBe(8 + ended.unsure.length);
});
