import { describe, expect, it } from "vitest";
import { archivedWords, dueWords, growth, largest, rulesOf, rulesText } from "./retention";

describe("retention", () => {
  const classes = [
    { name: "runs", doc: "", keep: "90d", due: [] },
    { name: "forms", doc: "", due: [] },
  ];

  it("writes the rules that were typed, and nothing for what is kept for ever", () => {
    expect(rulesText(rulesOf(classes))).toBe('runs: "90d"\n');
    expect(rulesText({ runs: " ", forms: " 30d " })).toBe('forms: "30d"\n');
    // What somebody types stays one value.
    expect(rulesText({ runs: "1d\nforms: 1d" })).toBe('runs: "1d\\nforms: 1d"\n');
  });

  it("says what would go", () => {
    expect(dueWords([])).toBe("nothing would go now.");
    expect(
      dueWords([
        { table: "a", rows: 1200 },
        { table: "b", rows: 10000, more: true },
      ]),
    ).toBe("11,200 or more would go now.");
  });

  it("says what the archive holds", () => {
    expect(archivedWords(undefined)).toBe("");
    expect(archivedWords({ conversations: 0, bytes: 0, stored: 0 })).toBe("");
    expect(archivedWords({ conversations: 1200, bytes: 4096, stored: 512 })).toMatch(
      /^Archived conversations: 1,200, in 512 B; their rows as text have 4\.0 KiB\./,
    );
  });

  it("says how fast tables grow, the largest first", () => {
    expect([growth(undefined), growth(12), growth(-3)]).toEqual(["not known yet", "+12", "-3"]);
    const tables = [
      { name: "a", rows: 5, day: "" },
      { name: "b", rows: 0, day: "" },
      { name: "c", rows: 9, day: "" },
    ];
    expect(largest(tables).map(({ name }) => name)).toEqual(["c", "a"]);
  });
});
