import { expect, test } from "vitest";
import { english } from "../labels";
import { spoken } from "./spoken";

test("an answer is spoken without its marks", () => {
  const content =
    "## Water\n\nIt is **very _clear_**, see [this](/docs).\n\n- one\n  - inner\n- two\n\n---\n";
  expect(spoken({ content }, english)).toBe("Water It is very clear, see this. one inner; two");
});

test("code and tables are named, and a long answer is cut", () => {
  expect(spoken({ content: "```\nx\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |" }, english)).toBe(
    "A block of code. A table with 1 row.",
  );
  const long = spoken({ content: "word ".repeat(1000) }, english);
  expect(long).toMatch(/… There is more in the messages\.$/);
  expect(long.length).toBeLessThan(1600);
});
