import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { keyFromSeed, parseKey } from "@castalia/oracles-client/wallet";
import { expect, test } from "vitest";
import { seedOf, splitWords } from "./readWords";
import { wordsOf } from "./words";

interface Vector {
  seed: string;
  words: string;
  did: string;
}

// The program is held by the same file.
const path = fileURLToPath(new URL("../../../../spec/vectors/words.json", import.meta.url));
const vectors = JSON.parse(readFileSync(path, "utf8")) as Vector[];
const { words, did } = vectors[4] as Vector;
const list = words.split(" ");

test("the words are the seed, as the program writes it", () => {
  expect(vectors.length).toBeGreaterThanOrEqual(8);
  for (const one of vectors) {
    const key = parseKey(one.seed);
    expect(wordsOf(key.seed).join(" ")).toBe(one.words);
    expect(keyFromSeed(seedOf(one.words)).did).toBe(one.did);
    expect(key.did).toBe(one.did);
  }
});

test.each([
  list.map((word, i) => `${i + 1}. ${word.toUpperCase()}\r\n`).join(""),
  list.map((word, i) => `${i + 1})${word}\u00a0\t`).join(""),
  list.map((word, i) => `\u2068(${i + 1}) ${word}\u2069,`).join(""),
  `\ufeff  ${list.join("  \n\n")}\n`,
  list.join(","),
])("they are read as people write them: %j", (text) => {
  expect(keyFromSeed(seedOf(text)).did).toBe(did);
  expect(splitWords(text)).toEqual(list);
});

test("what is wrong is named by its place", () => {
  expect(() => seedOf(list.with(6, "goatherd").join(" "))).toThrow(/^Word 7 is not on the list/);
  expect(() => seedOf(list.with(23, "zoo").join(" "))).toThrow("together they are no key");
  expect(() => seedOf(list.slice(0, 12).join(" "))).toThrow("These are 12 words");
  expect(() => seedOf(list.slice(0, 23).join(" "))).toThrow("There are 23 words, and a key has 24");
  expect(() => seedOf("abandon ".repeat(1000))).toThrow("and a key has 24");
});
