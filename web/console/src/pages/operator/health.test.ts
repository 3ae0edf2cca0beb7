import { expect, test } from "vitest";
import { nameOf, partsOf, wholeOf, type Report } from "./health";

const well = { name: "database", ok: true, needed: true, causes: [] };
const away = {
  name: "query",
  ok: false,
  needed: false,
  causes: [{ text: "main is unreachable", since: "2026-11-17T10:02:00Z" }],
};
const said = (...parts: Report["parts"]): Report => ({ ok: parts.every((p) => p.ok), parts });

test("parts in trouble come first, with causes and whether they are asked for alone", () => {
  const ready = { ready: true, checks: { database: "ok", query: "not ready", ussd: "ok" } };
  const parts = partsOf(said(well, away), ready);
  expect(parts.map((p) => [p.name, p.isWell, p.weight, p.isProbed])).toEqual([
    ["query", false, "alone", true],
    ["database", true, "needed", true],
    ["ussd", true, "unknown", true],
  ]);
  expect(parts[0]?.causes).toEqual(away.causes);
  expect(wholeOf(parts, ready, "ok")).toEqual(["1 part in trouble", "bad"]);
});

test("nothing is green under an error, whoever tells of it", () => {
  const refused = { ready: false, checks: { database: "not ready" } };
  expect(partsOf(said(well), refused)).toMatchObject([
    { isWell: false, causes: [{ text: "not ready" }] },
  ]);
  // A part that calls itself well and names a cause is not.
  const muddled = partsOf(said({ ...well, causes: away.causes }), { ready: true, checks: {} });
  expect(muddled).toMatchObject([{ isWell: false }]);
  expect(muddled[0]?.isProbed).toBe(false);
  const drained = { ready: false, checks: { server: "draining" } };
  expect(wholeOf(partsOf(said(well), drained), drained, "ok")).toEqual([
    "1 part in trouble",
    "bad",
  ]);
  expect(wholeOf([], { ready: false, checks: {} }, "ok")).toEqual(["not ready", "bad"]);
  expect(wholeOf([], { ready: true, checks: {} }, "degraded")).toEqual(["degraded", "bad"]);
  expect(wholeOf([], { ready: true, checks: {} }, "ok")).toEqual(["all is well", "good"]);
});

test("a part that nobody has words for is called as the server calls it", () => {
  const parts = partsOf(said(well, { ...well, name: "text messages" }, { ...well, name: "x y" }), {
    ready: true,
    checks: {},
  });
  expect(parts.map(nameOf)).toEqual(["database", "text messages", "x y"]);
});
