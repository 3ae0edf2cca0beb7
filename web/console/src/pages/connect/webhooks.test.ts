import { expect, test } from "vitest";
import { chosenEvents } from "./webhooks";

const types = ["file.stored", "file.deleted", "run.finished", "run.failed", "form.submitted"].map(
  (name) => ({ name, doc: "" }),
);

test("a whole group is chosen by its name, and all by a star", () => {
  const chosen = (...names: string[]) => chosenEvents(types, new Set(names));
  expect(chosen("file.stored")).toEqual(["file.stored"]);
  expect(chosen("file.stored", "file.deleted", "run.failed")).toEqual(["file.*", "run.failed"]);
  expect(chosen("form.submitted")).toEqual(["form.submitted"]);
  expect(chosen(...types.map(({ name }) => name))).toEqual(["*"]);
  expect(chosen()).toEqual([]);
});
