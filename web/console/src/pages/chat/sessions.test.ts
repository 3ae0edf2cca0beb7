import { expect, test } from "vitest";
import { byDay, matching } from "./sessions";

const now = new Date(2026, 10, 15, 12).getTime();
const hour = 3600_000;
const at = (title: string, hours: number) => ({
  title,
  lastUpdatedAt: new Date(now - hours * hour).toISOString(),
});

test("sessions are grouped by day", () => {
  const list = [at("a", 1), at("b", 2), at("c", 20), at("d", 70), at("e", 999)];
  expect(byDay(list, now).map(([day, some]) => [day, some.map((s) => s.title).join("")])).toEqual([
    ["Today", "ab"],
    ["Yesterday", "c"],
    ["This week", "d"],
    ["Earlier", "e"],
  ]);
  expect(byDay([], now)).toEqual([]);
});

test("a search wants every word", () => {
  const list = [at("Water for the school", 1), at("School fees", 2), at("", 3)];
  expect(matching(list, "school WATER").map((s) => s.title)).toEqual(["Water for the school"]);
  expect(matching(list, " ")).toHaveLength(3);
});
