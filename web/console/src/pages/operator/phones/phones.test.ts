import { expect, test } from "vitest";
import {
  accountsAfter,
  actOf,
  actorOf,
  completionOf,
  erasedOf,
  fileOf,
  formPath,
  gatewayOf,
  moneyOf,
  nextOf,
  searchOf,
  spendOf,
  submissionsAfter,
  type Receipt,
} from "./phones";
import { titlesOf } from "../layout";

test("accounts and answers are read page by page", () => {
  expect(accountsAfter("")).toBe("/operator/ussd/accounts?limit=50");
  expect(accountsAfter("C1A2B3C4D")).toBe("/operator/ussd/accounts?limit=50&after=C1A2B3C4D");
  expect(submissionsAfter("a/b", "x")).toBe("/operator/ussd/forms/a%2Fb?limit=50&after=x");
  expect(nextOf([])).toBeUndefined();
  expect(nextOf(Array.from({ length: 49 }, (_, i) => `C${i}`))).toBeUndefined();
  expect(nextOf(Array.from({ length: 50 }, (_, i) => `C${i}`))).toBe("C49");
});

test("a number is looked for whole, everything else as a part of a name", () => {
  const number = { phoneNumber: "+254700000001", limit: 50 };
  expect(searchOf("+254700000001", "")).toEqual(number);
  expect(searchOf(" +254 (700) 000-001 ", "")).toEqual(number);
  expect(searchOf(" Ann ", "C2")).toEqual({ text: "Ann", limit: 50, after: "C2" });
  expect(searchOf("0700", "")).toEqual({ text: "0700", limit: 50 });
});

test("what was done is told in words, and what nobody knows as it is", () => {
  const act = { at: "", actor: "operator" };
  expect(actOf({ ...act, act: "reset code made" })).toBe("Code for a new PIN made");
  expect(actOf({ ...act, act: "PIN reset" })).toBe("PIN reset");
  expect(actOf({ ...act, act: "painted blue" })).toBe("painted blue");
  expect(actorOf("operator on this machine")).toBe("operator on this machine");
  expect(actorOf(`did:key:${"z".repeat(48)}`)).toBe("did:key:zzzzzzzz…zzzzzz");
});

test("a receipt names what there was", () => {
  const none = { sessions: 0, questions: 0, attempts: 0, codes: 0, links: 0, forms: 0 };
  const receipt: Receipt = {
    account: "C1A2B3C4D",
    erasedAt: "",
    by: "operator",
    telephone: true,
    ...none,
    conversations: 0,
  };
  expect(erasedOf(receipt)).toBe("nothing else");
  expect(erasedOf({ ...receipt, sessions: 1200, forms: 2 })).toBe(
    "sessions: 1,200, forms that were sent: 2",
  );
});

test("figures are told as people read them", () => {
  const sessions = { begun: 9, completed: 0, left: 0, completion: 0 };
  expect(completionOf(sessions)).toBe("–");
  expect(completionOf({ ...sessions, completed: 2, left: 1, completion: 2 / 3 })).toBe("67%");
  expect(gatewayOf("")).toBe("/api/ussd");
  expect(gatewayOf("hubtel")).toBe("hubtel");
  expect(moneyOf("0.8000", "KES")).toBe("0.80 KES");
  expect(moneyOf("0.0045", "USD")).toBe("0.0045 USD");
  expect(moneyOf(undefined, undefined)).toBe("–");
  expect(spendOf([])).toBe("–");
  expect(
    spendOf([
      { currency: "KES", cost: "1200.0000" },
      { currency: "USD", cost: "0.5000" },
    ]),
  ).toBe("1,200.00 KES, 0.50 USD");
});

test("screens have the titles that callers see", () => {
  const node = { state: "", count: 0 };
  const titles = titlesOf({
    name: "",
    version: "",
    start: "home",
    nodes: [
      { ...node, id: "home", kind: "menu", text: "\nWelcome to the well\n1. Prices" },
      { ...node, id: "bare", kind: "menu", text: "" },
      { ...node, id: "hello", kind: "end", text: "Hello {{ name }}!" },
      { ...node, id: "keep", kind: "action", text: "storeForm" },
    ],
    edges: [],
  });
  expect([...titles]).toEqual([
    ["home", "Welcome to the well"],
    ["hello", "Hello …!"],
  ]);
  expect(titlesOf(undefined).size).toBe(0);
});

test("a file is named by its form", () => {
  expect(fileOf("names")).toBe("names.csv");
  expect(fileOf("../a b")).toBe("___a_b.csv");
  expect(formPath("names")).toBe("/operator/ussd/forms/names");
});
