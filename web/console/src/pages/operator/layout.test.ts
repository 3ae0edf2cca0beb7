import { expect, test } from "vitest";
import { box, layout, neighbour, type MenuGraph } from "./layout";

function graph(start: string, pairs: string, ends: string[] = [], more: string[] = []): MenuGraph {
  const edges = pairs
    .split(" ")
    .filter(Boolean)
    .map((p) => ({ from: p[0] ?? "", to: p[1] ?? "", label: p, count: 1 }));
  const ids = new Set([start, ...edges.flatMap((e) => [e.from, e.to]), ...more]);
  return {
    name: "",
    version: "",
    start,
    edges,
    nodes: [...ids].map((id) => ({
      id,
      state: "",
      kind: ends.includes(id) ? "end" : "menu",
      text: "",
      count: 0,
    })),
  };
}

const menu = graph("a", "ab ac bd be cf fa bz cz dz fz ba bb ab", ["z"], ["x", "y"]);

test("no two screens overlap", () => {
  const { nodes, width, height } = layout(menu);
  expect(nodes).toHaveLength(9);
  for (const one of nodes) {
    expect(one.x + box.width).toBeLessThanOrEqual(width);
    expect(one.y + box.height).toBeLessThanOrEqual(height);
    for (const other of nodes) {
      if (one === other) continue;
      const apart =
        Math.abs(one.x - other.x) >= box.width || Math.abs(one.y - other.y) >= box.height;
      expect(apart, `${one.id} on ${other.id}`).toBe(true);
    }
  }
});

test("screens stand one column after what leads to them; an end stands late", () => {
  const at = new Map(layout(menu).nodes.map((n) => [n.id, n.layer]));
  expect([at.get("a"), at.get("b"), at.get("d"), at.get("f")]).toEqual([0, 1, 2, 2]);
  expect(at.get("z")).toBe(3);
});

test("ways back are told from ways on, and doubles are one line", () => {
  const { edges } = layout(menu);
  const kind = (from: string, to: string) =>
    edges.find((e) => e.from === from && e.to === to)?.kind;
  expect(kind("a", "b")).toBe("tree");
  expect(kind("f", "a")).toBe("back");
  expect(kind("b", "z")).toBe("forward");
  expect(kind("b", "b")).toBeUndefined();
  expect(edges.filter((e) => e.from === "a" && e.to === "b")).toMatchObject([{ count: 2 }]);
});

test("odd menus are drawn too", () => {
  expect(layout(graph("nowhere", ""))).toMatchObject({ nodes: [{ id: "nowhere" }] });
  expect(layout({ ...graph("a", "ab"), start: "gone" }).nodes).toHaveLength(2);
  expect(layout({ ...graph("a", ""), nodes: [], start: "a" })).toMatchObject({
    nodes: [],
    edges: [],
  });
  expect(layout(menu)).toEqual(layout(menu));
});

test("arrow keys walk along the lines and in the columns, and stop at the ends", () => {
  const placed = layout(menu);
  const walk = (from: string, ...keys: string[]) =>
    keys.reduce((at, key) => neighbour(placed, at, `Arrow${key}`) ?? at, from);
  expect(walk("a", "Right", "Down")).toBe("c");
  expect(walk("a", "Right", "Up", "Up")).toBe("b");
  expect(walk("b", "Right", "Left")).toBe("b");
  expect(walk("f", "Left", "Left", "Left")).toBe("a");
  expect(neighbour(placed, "a", "ArrowLeft")).toBeUndefined();
  expect(neighbour(placed, "a", "Enter")).toBeUndefined();
  expect(neighbour(placed, "nobody", "ArrowDown")).toBeUndefined();
});

test("every screen is reached by arrow keys, also those that nothing leads to", () => {
  const placed = layout(menu);
  const seen = new Set(["a"]);
  for (const id of seen) {
    for (const key of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]) {
      const next = neighbour(placed, id, key);
      if (next) seen.add(next);
    }
  }
  expect([...seen].sort()).toEqual(menu.nodes.map((n) => n.id).sort());
});
