import { expect, test } from "vitest";
import { readChart, scale } from "./chartData";

test("what an oracle sends is read with care", () => {
  expect(readChart({ values: ["1", 2], labels: ["a"] })).toEqual({
    title: "",
    kind: "bar",
    labels: ["a", "2"],
    values: [1, 2],
  });
  expect(() => readChart(null)).toThrow("list of numbers");
  expect(() => readChart({ values: ["x"] })).toThrow("must be numbers");
  expect(() => readChart({ values: Array(61).fill(1) })).toThrow("at most 60");
});

test("scales are round and hold every value", () => {
  expect(scale([420, 388, 702]).ticks).toEqual([0, 200, 400, 600, 800]);
  expect(scale([0, 0])).toMatchObject({ low: 0 });
  const { low, high } = scale([-3, 12]);
  expect(low).toBeLessThanOrEqual(-3);
  expect(high).toBeGreaterThanOrEqual(12);
});
