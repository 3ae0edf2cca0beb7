import { expect, test } from "vitest";
import { clock, folderOf, goingOn, languagesOf, speechNews, whyOver } from "./words";

test("a recording is in its folder", () => {
  expect(folderOf("/recordings/a b.wav")).toBe("/recordings");
  expect(folderOf("/a.wav")).toBe("");
});

test("time is told as on a telephone", () => {
  expect([0, 999, 61_000, 3_599_000, 3_661_000, -5].map(clock)).toEqual([
    "00:00",
    "00:00",
    "01:01",
    "59:59",
    "1:01:01",
    "00:00",
  ]);
});

test("the oracle's doings are told only while it is there", () => {
  expect(goingOn("connected", "speaking")).toBe("Speaking");
  expect(goingOn("reconnecting", "speaking")).toMatch(/Reconnecting/);
  expect(whyOver("token_revoked")).toMatch(/withdrawn/);
  expect(whyOver("taken")).toMatch(/another tab/);
  expect(whyOver("something new")).toBe("The call could not go on.");
});

test("what becomes of speech is said in a sentence", () => {
  expect(speechNews({ hearing: "works", voice: "works" })).toEqual({
    text: "The oracle hears what you say; it answers aloud.",
    isBad: false,
  });
  expect(speechNews({ hearing: "none", voice: "none" })).toEqual({
    text: "No speech recognition is set up, so you type in the call; it has no voice: read the captions.",
    isBad: false,
  });
  expect(speechNews({ hearing: "works", voice: "away" })).toMatchObject({ isBad: true });
});

test("the languages of a browser are named, each once", () => {
  expect(languagesOf(["en-GB", "sw", "sw", "not a language"])).toEqual([
    { tag: "en-GB", name: "British English" },
    { tag: "sw", name: "Swahili" },
  ]);
});
