import { expect, test } from "vitest";
import { chosenFiles, droppedFiles } from "./dropped";

const file = (name: string) => ({ name }) as File;

/** An entry as browsers give it: a folder tells a hundred at a time, and then nothing. */
function entry(name: string, inside?: unknown[]): unknown {
  if (!inside)
    return {
      name,
      isFile: true,
      isDirectory: false,
      file: (done: (f: File) => void) => done(file(name)),
    };
  const rest = [...inside];
  const readEntries = (done: (some: unknown[]) => void) => done(rest.splice(0, 2));
  return { name, isFile: false, isDirectory: true, createReader: () => ({ readEntries }) };
}

function transfer(...entries: unknown[]): DataTransfer {
  const items = entries.map((e) => ({ webkitGetAsEntry: () => e }));
  const files = (entries as { name: string }[]).map(({ name }) => file(name));
  return { items, files } as unknown as DataTransfer;
}

test("folders that are dropped come with all that is in them", async () => {
  const empty: string[] = [];
  const found = await droppedFiles(
    transfer(
      entry("Plans", [
        entry("a"),
        entry("b"),
        entry("c"),
        entry("deep", [entry("d")]),
        entry("none", []),
      ]),
      entry("e"),
    ),
    (path) => empty.push(path),
  );
  expect(found.map((f) => f.path)).toEqual(["Plans/a", "Plans/b", "Plans/c", "Plans/deep/d", "e"]);
  expect(empty).toEqual(["Plans/none"]);
});

test("files alone come by their names, and those of a chosen folder by their paths", async () => {
  expect((await droppedFiles(transfer(entry("a"), entry("b")))).map((f) => f.path)).toEqual([
    "a",
    "b",
  ]);
  const inside = { name: "a", webkitRelativePath: "Plans/a" } as File;
  expect(chosenFiles([inside, file("b")]).map((f) => f.path)).toEqual(["Plans/a", "b"]);
});
