import { expect, test } from "vitest";
import {
  doorOf,
  limitIn,
  limitsIn,
  limitText,
  lossesOf,
  membersAfter,
  nameOf,
  peopleAfter,
  quotaParts,
  receiptOf,
  standingOf,
  usageOf,
  usesOf,
} from "./people";

test("members are read page by page", () => {
  expect(membersAfter("", "")).toBe("/operator/members?limit=50");
  expect(membersAfter("Ada", "did:key:z6Mk")).toBe(
    "/operator/members?limit=50&search=Ada&after=did%3Akey%3Az6Mk",
  );
});

test("the door is told in words", () => {
  expect(doorOf({ access: "open", members: 0, named: 0 })).toContain("Everybody");
  expect(doorOf({ access: "invite", members: 3, named: 0 })).not.toContain("ACCESS_DIDS");
  expect(doorOf({ access: "closed", members: 3, named: 1200 })).toContain("names 1,200 more");
});

test("usage is told in words, and only what there was", () => {
  const none = { calls: 0, failed: 0, inputTokens: 0, outputTokens: 0, costMicros: 0 };
  expect(usageOf({ total: none })).toBe("No model was asked in the last 30 days.");
  expect(usageOf({ total: { ...none, calls: 1, inputTokens: 1200, outputTokens: 30 } })).toBe(
    "In the last 30 days: 1 request to models, 1,200 tokens read, 30 written.",
  );
  expect(usageOf({ total: { ...none, calls: 4, failed: 1, costMicros: 5100 } })).toBe(
    "In the last 30 days: 4 requests to models, 1 failed, 0 tokens read, 0 written, cost 0.0051.",
  );
});

test("an invitation says how far it is used", () => {
  const made = { id: "i", uses: 1, maxUses: 5, expires: "2026-11-24T00:00:00.000Z" };
  expect(usesOf(made)).toBe("1 of 5 used");
  expect(usesOf({ ...made, over: "was withdrawn" })).toBe("1 of 5 used; it was withdrawn");
});

test("people are found by what was typed, and their standing is told", () => {
  expect(peopleAfter("", "")).toBe("/operator/people?limit=50");
  expect(peopleAfter("Ada & co", "did:x")).toBe(
    "/operator/people?limit=50&search=Ada+%26+co&after=did%3Ax",
  );
  const ada = { did: "did:key:z6MkAda", note: "Ada", member: true };
  expect(nameOf(ada)).toBe("Ada");
  expect(standingOf(ada)).toBe("member");
  const at = new Date().toISOString();
  const blocked = { did: "did:key:z", member: false, blocked: { at, by: "o", note: "spam" } };
  expect(standingOf(blocked)).toBe("no member, blocked just now: spam");
});

test("limits are typed in units of people, and nothing typed is what everybody may have", () => {
  expect(limitsIn(["", " ", ""])).toEqual({});
  expect(limitsIn(["1.5", "0", "0.25"])).toEqual({
    bytes: 1572864,
    messages: 0,
    costMicros: 250000,
  });
  const own = { bytes: 1572864, messages: 0 };
  expect(quotaParts.map((part) => limitIn(part, own[part.name as keyof typeof own]))).toEqual([
    "1.5",
    "0",
    "",
  ]);
  expect(quotaParts.map((part) => limitText(part, 0))).toEqual(Array(3).fill("no limit"));
  expect(quotaParts.map((part) => limitText(part, 2000000)).at(-1)).toBe("$2.00");
});

test("a receipt adds up what several requests erased and what the archive had lost", () => {
  const stays = ["the block"];
  const first = receiptOf(undefined, {
    erased: { conversations: 2 },
    lost: ["s1"],
    unseen: 3,
    unrevoked: ["wiki"],
    done: false,
    stays,
  });
  const whole = receiptOf(first, {
    erased: { conversations: 1, files: 4 },
    lost: ["s2"],
    done: true,
    stays,
  });
  expect(whole).toEqual({
    erased: { conversations: 3, files: 4 },
    lost: ["s1", "s2"],
    unseen: 3,
    unrevoked: ["wiki"],
    done: true,
    stays,
  });
  expect(lossesOf(whole)).toEqual([
    "The archive had lost 2 conversations before they were erased:",
    "3 archived conversations were erased unseen: the archive did not say in time whether it still had them.",
  ]);
});

test("a receipt without losses says nothing of them", () => {
  const whole = receiptOf(undefined, { erased: {}, done: true, stays: [] });
  expect(lossesOf(whole)).toEqual([]);
});
