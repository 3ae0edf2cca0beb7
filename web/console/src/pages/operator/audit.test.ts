import { expect, test } from "vitest";
import { auditQuery, ending, everything } from "./audit";

test("a filter asks for a person or a kind of act, and for a time", () => {
  expect(auditQuery(everything)).toBe("");
  expect(auditQuery({ ...everything, by: "actor", text: " did:key:zAda " })).toBe(
    "?actor=did%3Akey%3AzAda",
  );
  expect(auditQuery({ ...everything, by: "act", text: "PUT /operator/x" }, "7-a")).toBe(
    "?act=PUT+%2Foperator%2Fx&before=7-a",
  );
  expect(auditQuery({ ...everything, text: "nobody asked" })).toBe("");
  const at = new Date("2026-11-17T10:00").toISOString();
  expect(auditQuery({ ...everything, since: "2026-11-17T10:00", until: "soon" })).toBe(
    `?since=${encodeURIComponent(at)}`,
  );
});

test("an end that nobody saw is said to be unknown", () => {
  expect([0, 204, 403, 409, 503].map(ending)).toEqual([
    "end unknown",
    "done",
    "refused",
    "not accepted",
    "failed",
  ]);
});
