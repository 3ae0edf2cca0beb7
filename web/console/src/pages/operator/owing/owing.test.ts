import { expect, test } from "vitest";
import { balancesAfter, claimsAfter, failureOf, retryPath, standingOf, type Claim } from "./owing";

const claim: Claim = { id: "a/b", did: "did:key:z", amount: 3, state: "outstanding" };

test("pages of claims and accounts are asked for one after another", () => {
  expect(claimsAfter("failed", "")).toBe("/operator/claims?state=failed&limit=50");
  expect(claimsAfter("owed", "x/y")).toBe("/operator/claims?state=owed&limit=50&after=x%2Fy");
  expect(balancesAfter("Ada & co", "z")).toBe(
    "/operator/credits?limit=50&search=Ada+%26+co&after=z",
  );
  expect(retryPath(claim)).toBe("/operator/claims/a%2Fb/retry");
});

test("how far a claim is, and what failed, is told in words", () => {
  expect(standingOf(claim)).toBe("not yet submitted");
  expect(standingOf({ ...claim, state: "submitted" })).toBe("submitted to the registry");
  expect(standingOf({ ...claim, at: "2026-11-17T10:00:00Z" })).toContain("2026");
  expect(failureOf({ ...claim, state: "failed", step: "submit", attempts: 1 })).toBe(
    "It could not be submitted, after 1 try:",
  );
  expect(failureOf({ ...claim, state: "failed", step: "settle", attempts: 8 })).toBe(
    "It could not be settled, after 8 tries:",
  );
});
