import { expect, test } from "vitest";
import { english } from "../labels";
import { byDay, titleOf, unmarked } from "./sessions";

const now = new Date(2026, 10, 15, 12).getTime();
const hour = 3600_000;
const at = (title: string, hours: number) => ({
  title,
  lastUpdatedAt: new Date(now - hours * hour).toISOString(),
});

test("sessions are grouped by day", () => {
  const list = [at("a", 1), at("b", 2), at("c", 20), at("d", 70), at("e", 999)];
  expect(
    byDay(list, now, english).map(([day, some]) => [day, some.map((s) => s.title).join("")]),
  ).toEqual([
    ["Today", "ab"],
    ["Yesterday", "c"],
    ["This week", "d"],
    ["Earlier", "e"],
  ]);
  expect(byDay([], now, english)).toEqual([]);
});

test("an excerpt is read without the marks of Markdown", () => {
  expect(unmarked("a ## Springs of **the** `a_b` region > quoted - item 3 * 4")).toBe(
    "a Springs of the a_b region quoted item 3 4",
  );
});

test("what has no title yet is new", () => {
  const called = (session: { title?: string } | undefined) => titleOf(session, "New");
  expect([undefined, { title: "Untitled" }, { title: "Bees" }].map(called)).toEqual([
    "New",
    "New",
    "Bees",
  ]);
});
