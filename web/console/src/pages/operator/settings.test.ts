import { expect, test } from "vitest";
import { documentSourceOf, grouped, sourceOf, type Setting } from "./settings";

const make = (part: string, name: string, more: Partial<Setting> = {}): Setting => ({
  part,
  name,
  value: "",
  source: "default",
  doc: "",
  ...more,
});
const all = [
  make("HTTP", "PORT", { value: "3000", source: "environment", doc: "Where it listens." }),
  make("Files", "FILES_QUOTA", { value: "0", doc: "Bytes of a namespace." }),
  make("HTTP", "HOST", { value: "0.0.0.0", doc: "Which address listens." }),
  make("Oracle", "OPENAI_API_KEY", { value: "xxx4711", source: "file", secret: true }),
];
const names = (words: string, isSetOnly = false) =>
  grouped(all, words, isSetOnly).map(([part, some]) => [part, some.map((s) => s.name)]);

test("settings are found by all words, in their parts", () => {
  expect(names("")).toEqual([
    ["HTTP", ["PORT", "HOST"]],
    ["Files", ["FILES_QUOTA"]],
    ["Oracle", ["OPENAI_API_KEY"]],
  ]);
  expect(names("LISTENS address")).toEqual([["HTTP", ["HOST"]]]);
  expect(names("nothing of this")).toEqual([]);
});

test("what is set is told apart from what is usual", () => {
  expect(names("", true)).toEqual([
    ["HTTP", ["PORT"]],
    ["Oracle", ["OPENAI_API_KEY"]],
  ]);
  expect(all.map(sourceOf).slice(0, 2)).toEqual(["from the environment", "not set"]);
});

test("a secret is not found by what it is", () => {
  expect(names("4711")).toEqual([]);
  expect(names("openai")).toEqual([["Oracle", ["OPENAI_API_KEY"]]]);
});

test("a setting is found by its title in the reader's language", () => {
  expect(names("room for files")).toEqual([["Files", ["FILES_QUOTA"]]]);
});

test("where a setting and a document come from is told in words", () => {
  const of = (source: string) => documentSourceOf({ name: "access", source, restart: false });
  expect(["environment", "database", "built in"].map(of)).toEqual([
    "from the environment",
    "chosen by operators",
    "built in",
  ]);
  expect(sourceOf(make("Server", "PUBLIC_URL", { source: "database" }))).toBe(
    "chosen by operators",
  );
});
