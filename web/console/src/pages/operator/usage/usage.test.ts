import { expect, test } from "vitest";
import {
  costOf,
  lastDays,
  lastMonths,
  mostSeries,
  scaleOf,
  seriesOf,
  sumsPath,
  wordsOf,
  type Sum,
} from "./usage";

const none = { messages: 0, calls: 0, failed: 0, inputTokens: 0, outputTokens: 0, costMicros: 0 };
const now = Date.UTC(2026, 2, 1, 0, 30);
const days = lastDays(3, now);

test("days and months end today, in UTC", () => {
  expect(days).toEqual(["2026-02-27", "2026-02-28", "2026-03-01"]);
  expect(lastDays(90, now)).toHaveLength(90);
  expect(lastMonths(4, Date.UTC(2026, 1, 28))).toEqual([
    "2026-02",
    "2026-01",
    "2025-12",
    "2025-11",
  ]);
  expect(sumsPath(days, "model")).toBe(
    "/operator/usage?from=2026-02-27&to=2026-03-01&by=day%2Cmodel",
  );
});

test("sums become lines, the largest first, with nothing where there was nothing", () => {
  const sums: Sum[] = [
    { ...none, day: "2026-02-27", source: "oracle", messages: 2 },
    { ...none, day: "2026-03-01", source: "telephone", messages: 5 },
    { ...none, day: "2026-03-01", source: "oracle", messages: 1 },
    { ...none, day: "2026-03-01", source: "teamchat", messages: 1 },
    { ...none, day: "2026-03-01", source: "call", calls: 3 },
    { ...none, day: "2025-03-01", source: "call", messages: 3 },
  ];
  expect(seriesOf(sums, days, "source", (sum) => sum.messages)).toEqual([
    { name: "Telephone", values: [0, 0, 5] },
    { name: "Web pages", values: [2, 0, 1] },
    { name: "teamchat", values: [0, 0, 1] },
  ]);
});

test("what is too small to be told apart is one line, and nothing is lost", () => {
  const sums = Array.from({ length: 9 }, (_, i) => ({
    ...none,
    day: "2026-02-28",
    model: `m${i}`,
    messages: i + 1,
  }));
  const found = seriesOf(sums, days, "model", (sum) => sum.messages);
  expect(found).toHaveLength(mostSeries);
  expect(found.at(-1)).toEqual({ name: "Others", values: [0, 1 + 2 + 3 + 4 + 5, 0] });
});

test("a scale ends with a round number", () => {
  expect([0, 1, 3, 5, 7, 99, 1001, 0.25].map(scaleOf)).toEqual(
    [1, 1, 3, 5, 8, 100, 1500, 0.3].map((n) => expect.closeTo(n)),
  );
});

test("a picture is told in words", () => {
  const text = (n: number) => String(n);
  expect(wordsOf(days, [], text)).toBe("Nothing in these days.");
  const all = [
    { name: "a", values: [1, 5, 0] },
    { name: "b", values: [5, 0, 0] },
  ];
  expect(wordsOf(days, all, text)).toBe("11 in all, most on Feb 27, 2026: 6.");
});

test("cost is told in units, small ones to the hundredth of a cent", () => {
  expect([costOf(0), costOf(5100), costOf(12_345_678)]).toEqual(["0.00", "0.0051", "12.35"]);
});
