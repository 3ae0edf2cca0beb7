import { expect, test } from "vitest";
import type { ContentMatch, FileRecord, SearchHit } from "./api";
import { namePatterns, places } from "./found";

const file = (name: string): FileRecord => ({
  id: name,
  path: `/${name}`,
  name,
  mimeType: "text/plain",
  size: 1,
  version: 1,
  cid: `cid-${name}`,
  updatedAt: "2026-01-01T00:00:00.000Z",
});
const hit: SearchHit = { path: "/b", fileId: "b", lineStart: 2, lineEnd: 3, cid: "cid-b" };
const match = (name: string): ContentMatch => ({ ...file(name), lines: [7, 9], snippet: "…" });

test("a part of a name is looked for in the usual spellings", () => {
  expect(namePatterns("mi")).toEqual(["**/*mi*", "**/*Mi*"]);
  expect(namePatterns("MI")).toEqual(["**/*MI*", "**/*mi*", "**/*Mi*"]);
});

test("what means something in a pattern is any character", () => {
  expect(namePatterns("*/?")).toEqual(["**/*???*"]);
});

test("names come first, and a file with a word is not listed again for a part of it", () => {
  expect(places([file("a")], [hit], [match("b"), match("c")])).toEqual([
    { key: "name a", path: "/a", cid: "cid-a" },
    { key: "word 0", path: "/b", cid: "cid-b", lines: [2, 3] },
    { key: "part c", path: "/c", cid: "cid-c", lines: [7, 7], preview: "…" },
  ]);
});

test("a file that the index knows by its name is listed once, with where the part stands in it", () => {
  const byName: SearchHit = { path: "/a", fileId: "a", cid: "cid-a" };
  expect(places([file("a")], [byName], [match("a")])).toEqual([
    { key: "name a", path: "/a", cid: "cid-a" },
    { key: "part a", path: "/a", cid: "cid-a", lines: [7, 7], preview: "…" },
  ]);
  expect(places([], [byName], [])).toEqual([{ key: "word 0", path: "/a", cid: "cid-a" }]);
});
