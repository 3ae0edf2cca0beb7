import { expect, test } from "vitest";
import { linesOf, logsPath } from "./logs";

test("lines are shown newest first, with all that they say", () => {
  const lines = linesOf([
    { time: "2026-11-17T10:00:00Z", level: "INFO", msg: "listening", port: 3000 },
    { time: "2026-11-17T10:00:01Z", level: "WARN", msg: "slow", took: "2s", at: { path: "/" } },
  ]);
  expect(lines).toMatchObject([
    {
      level: "warn",
      text: "slow",
      rest: [
        ["took", "2s"],
        ["at", '{"path":"/"}'],
      ],
    },
    { time: "2026-11-17T10:00:00Z", level: "info", text: "listening", rest: [["port", "3000"]] },
  ]);
  expect(linesOf([{}])).toMatchObject([{ time: "", level: "", text: "", rest: [] }]);
});

test("equal lines are told apart, and keep their keys when others come", () => {
  const line = { level: "INFO", msg: "again" };
  const two = linesOf([line, line]).map((one) => one.key);
  expect(new Set(two).size).toBe(2);
  expect(
    linesOf([line, line, { msg: "new" }])
      .map((one) => one.key)
      .slice(1),
  ).toEqual(two);
});

test("only what is asked for is in the address", () => {
  expect(logsPath("info", "  ")).toBe("/operator/logs?level=info");
  expect(logsPath("error", " a&b ")).toBe("/operator/logs?level=error&contains=a%26b");
});
