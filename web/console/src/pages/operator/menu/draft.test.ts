import { describe, expect, it } from "vitest";
import { layout } from "../layout";
import {
  changedScreens,
  compare,
  findingsAt,
  graphOf,
  leadsTo,
  nextOf,
  partOf,
  put,
  renamed,
  screenSize,
  targetsOf,
  type Tree,
} from "./draft";

const menu: Tree = {
  name: "Well",
  languages: ["en", "sw"],
  start: "home",
  exit: "bye",
  labels: { back: { en: "Back", sw: "Rudi" }, exit: { en: "Exit", sw: "Toka" } },
  variables: { name: { max: 10 } },
  screens: {
    home: {
      text: { en: "Hello {{name}}", sw: "Karibu" },
      options: [
        { key: 1, label: { en: "Prices", sw: "Bei" }, next: "asking" },
        { key: "2", hidden: true, next: [{ when: "linked", to: "prices" }, { to: ":exit" }] },
      ],
      exit: true,
    },
    prices: { text: { en: "€ 5", sw: "5" }, back: "home" },
    bye: { text: { en: "Bye", sw: "Kwaheri" }, end: true },
  },
  actions: {
    asking: { run: "readList", on: { ok: "prices", none: { to: "home", notice: { en: "None" } } } },
  },
};

describe("a draft", () => {
  it("is changed at a path, and nowhere else", () => {
    const changed = put(menu, ["screens", "home", "options", 0, "label", "en"], "Cost");
    expect(JSON.stringify(changed)).toBe(JSON.stringify(menu).replace('"Prices"', '"Cost"'));
    expect(put({ a: { b: 1, c: 2 } }, ["a", "b"], undefined)).toEqual({ a: { c: 2 } });
    expect(put({ a: [1, 2, 3] }, ["a", 1], undefined)).toEqual({ a: [1, 3] });
    expect(put({}, ["a", "b", 0], "x")).toEqual({ a: { b: ["x"] } });
  });

  it("writes targets as it read them", () => {
    for (const next of [
      "home",
      { when: "linked", to: "home" },
      [{ when: "linked", to: "home" }, { to: ":exit" }],
      { to: "home", notice: { en: "None" } },
    ]) {
      expect(nextOf(targetsOf(next))).toEqual(next);
    }
    expect(nextOf(targetsOf(undefined))).toBeUndefined();
  });

  it("counts what a screen takes on the air, with values at their longest", () => {
    // Hello xxxxxxxxxx / 1. Prices / *. Exit
    expect(screenSize(menu, "home", "en")).toEqual({ used: 34, limit: 160, unit: "septets" });
    expect(screenSize(menu, "prices", "en").used).toBe(4 + 8);
    expect(screenSize(menu, "home", "sw", { septets: 140, characters: 60 }).limit).toBe(140);
  });

  it("is drawn through its actions", () => {
    const graph = graphOf(menu);
    expect(graph.edges.map((e) => `${e.from}>${e.to}`)).toEqual([
      "home>prices",
      "home>home",
      "home>prices",
      "home>bye",
      "home>bye",
      "prices>home",
    ]);
    expect(layout(graph).nodes).toHaveLength(3);
    expect(leadsTo(menu, "prices")).toEqual(["home", "asking"]);
  });

  it("gives a screen another name everywhere", () => {
    const other = renamed(menu, "screens", "home", "first");
    expect(Object.keys(other.screens as Tree)).toEqual(["first", "prices", "bye"]);
    expect(other.start).toBe("first");
    expect(JSON.stringify(other)).not.toContain('"home"');
    expect(JSON.stringify(renamed(other, "screens", "first", "home"))).toBe(JSON.stringify(menu));
    expect(JSON.stringify(renamed(menu, "actions", "asking", "looking"))).not.toContain("asking");
  });

  it("has findings where they belong", () => {
    const issues = [
      { line: 9, path: "screens.home.options[0].next", message: "a" },
      { line: 30, path: "screens.homely.text", message: "b" },
      { line: 1, message: "c" },
    ];
    expect(findingsAt(issues, "screens.home").map((i) => i.message)).toEqual(["a"]);
    const part = (line: number) => ({ line, menu: {} });
    expect(issues.map((i) => partOf([part(2), part(20)], i))).toEqual([0, 1, 0]);
  });

  it("is compared with what is live", () => {
    expect(compare("a\nb\nc\nd\ne\nf", "a\nb\nc\nd\nx\nf", 1)).toEqual([
      { kind: "gap", text: "" },
      { kind: "same", text: "d" },
      { kind: "removed", text: "e" },
      { kind: "added", text: "x" },
      { kind: "same", text: "f" },
    ]);
    expect(compare("a\nb", "a\nb")).toEqual([]);
    const after = put(put(menu, ["screens", "new"], {}), ["screens", "bye"], undefined);
    const parts = (tree: Tree) => [{ line: 1, menu: tree }];
    expect(changedScreens(parts(menu), parts(after))).toEqual(["new is new", "bye is gone"]);
    expect(
      changedScreens(parts(menu), parts(put(menu, ["screens", "bye", "text", "en"], "!"))),
    ).toEqual(["bye is changed"]);
  });
});
