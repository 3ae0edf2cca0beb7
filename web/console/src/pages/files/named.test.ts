// @vitest-environment jsdom
import { beforeEach, expect, test } from "vitest";
import { named, remember } from "./named";

beforeEach(() => localStorage.clear());

const paths = (folder: string, known: string[] = []) =>
  named(
    "did:a",
    folder,
    known.map((path) => ({ path, name: path, type: "folder" })),
  ).map((n) => n.path);

test("a folder that was named is there until the store has it, also above the one within it", () => {
  remember("did:a", "/Plans/May");
  remember("did:a", "/Plans/May");
  expect(paths("/")).toEqual(["/Plans"]);
  expect(paths("/Plans")).toEqual(["/Plans/May"]);
  expect(paths("/Plans/May")).toEqual([]);
  expect(paths("/", ["/Plans"])).toEqual([]);
});

test("others are not told, and what is no list is no list", () => {
  remember("did:b", "/Secret");
  expect(paths("/")).toEqual([]);
  localStorage.setItem("castalia-folders did:a", "{}");
  expect(paths("/")).toEqual([]);
});
