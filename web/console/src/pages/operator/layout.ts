/** A menu as the server draws it. */
export interface MenuGraph {
  name: string;
  version: string;
  start: string;
  nodes: MenuNode[];
  edges: MenuEdge[];
}

export interface MenuNode {
  id: string;
  state: string;
  kind: string;
  text: string;
  count: number;
}

/** What callers know a screen by: how what it shows begins. One that shows nothing has its name alone. */
export function screenTitle({ kind, text }: Pick<MenuNode, "kind" | "text">): string | undefined {
  const first = text
    .trim()
    .split("\n")[0]
    ?.trim()
    .replaceAll(/\{\{.*?\}\}/g, "…");
  return kind === "action" || !first ? undefined : first;
}

/** Screens by what callers know them by. */
export function titlesOf(graph: MenuGraph | undefined): Map<string, string> {
  return new Map(
    graph?.nodes.flatMap((node) => {
      const title = screenTitle(node);
      return title ? [[node.id, title] as const] : [];
    }),
  );
}

export interface MenuEdge {
  from: string;
  to: string;
  label: string;
  count: number;
}

export interface PlacedNode extends MenuNode {
  x: number;
  y: number;
  layer: number;
}

export interface PlacedEdge {
  from: string;
  to: string;
  labels: string[];
  count: number;
  /** tree: how a screen is reached first; forward: other ways on; back: ways back. */
  kind: "tree" | "forward" | "back";
  path: string;
}

export interface Placed {
  nodes: PlacedNode[];
  edges: PlacedEdge[];
  width: number;
  height: number;
}

export const box = { width: 178, height: 46, gapX: 56, gapY: 14, pad: 12 };

/**
 * Draws a menu from left to right: a screen stands one column after the first
 * screen that leads to it, beside its siblings, and its parent in their middle.
 * Screens that nothing leads to come last, in a row of their own. The same menu
 * gives the same drawing.
 */
export function layout(graph: MenuGraph): Placed {
  const known = new Map(graph.nodes.map((n) => [n.id, n]));
  const edges = joined(graph.edges.filter((e) => known.has(e.from) && known.has(e.to)));
  const { layer, parent, order } = reach(graph.start, edges, known);

  const children = new Map<string, string[]>();
  for (const id of order) {
    const above = parent.get(id);
    if (above !== undefined) children.set(above, [...(children.get(above) ?? []), id]);
  }
  const y = new Map<string, number>();
  let next = box.pad;
  const set = (id: string): number => {
    const below = (children.get(id) ?? []).map(set);
    let at = next;
    if (below.length > 0) at = ((below[0] ?? 0) + (below.at(-1) ?? 0)) / 2;
    else next += box.height + box.gapY;
    y.set(id, at);
    return at;
  };
  if (known.has(graph.start)) set(graph.start);
  const lost = graph.nodes.filter((n) => !layer.has(n.id));
  const columns = Math.max(0, ...layer.values()) + 1;
  const perRow = Math.max(columns, 1);
  const lostTop = next + (lost.length > 0 && next > box.pad ? box.gapY : 0);
  const nodes = graph.nodes.map((n): PlacedNode => {
    const at = layer.get(n.id);
    if (at !== undefined) {
      return { ...n, layer: at, x: left(at), y: y.get(n.id) ?? box.pad };
    }
    const i = lost.indexOf(n);
    const row = Math.floor(i / perRow);
    return {
      ...n,
      layer: i % perRow,
      x: left(i % perRow),
      y: lostTop + row * (box.height + box.gapY),
    };
  });
  const byId = new Map(nodes.map((n) => [n.id, n]));
  return {
    nodes,
    edges: edges.map((e): PlacedEdge => {
      const from = byId.get(e.from);
      const to = byId.get(e.to);
      const isTree = parent.get(e.to) === e.from;
      const goesOn = from && to && to.layer > from.layer;
      return {
        ...e,
        kind: isTree ? "tree" : goesOn ? "forward" : "back",
        path: from && to ? curve(from, to) : "",
      };
    }),
    width: Math.max(...nodes.map((n) => n.x + box.width), 0) + box.pad,
    height: Math.max(...nodes.map((n) => n.y + box.height), 0) + box.pad,
  };
}

/** The screen that an arrow key leads to: along the lines sideways, in the column up and down. */
export function neighbour(placed: Placed, from: string, key: string): string | undefined {
  const here = placed.nodes.find((n) => n.id === from);
  if (!here) return undefined;
  const nearest = (some: PlacedNode[]) =>
    some.sort((a, b) => Math.abs(a.y - here.y) - Math.abs(b.y - here.y))[0]?.id;
  const tree = placed.edges.filter((e) => e.kind === "tree");
  const column = placed.nodes.filter((n) => n.layer === here.layer);
  switch (key) {
    case "ArrowDown":
      return nearest(column.filter((n) => n.y > here.y));
    case "ArrowUp":
      return nearest(column.filter((n) => n.y < here.y));
    case "ArrowLeft":
      return tree.find((e) => e.to === from)?.from;
    case "ArrowRight":
      return nearest(
        placed.nodes.filter((n) => tree.some((e) => e.from === from && e.to === n.id)),
      );
    default:
      return undefined;
  }
}

function left(layer: number): number {
  return box.pad + layer * (box.width + box.gapX);
}

/** Edges between the same two screens are one line with several labels. */
function joined(edges: MenuEdge[]) {
  const out = new Map<string, { from: string; to: string; labels: string[]; count: number }>();
  for (const e of edges) {
    if (e.from === e.to) continue;
    const key = JSON.stringify([e.from, e.to]);
    const one = out.get(key) ?? { from: e.from, to: e.to, labels: [], count: 0 };
    one.labels.push(e.label);
    one.count += e.count;
    out.set(key, one);
  }
  return [...out.values()];
}

/** Breadth first, so that every screen stands as near to the start as it can. */
function reach(start: string, edges: { from: string; to: string }[], known: Map<string, MenuNode>) {
  const layer = new Map<string, number>();
  const parent = new Map<string, string>();
  const order: string[] = [];
  if (!known.has(start)) return { layer, parent, order };
  const out = new Map<string, string[]>();
  for (const e of edges) out.set(e.from, [...(out.get(e.from) ?? []), e.to]);
  // Ends are drawn beside the last screen that leads to them, not the first:
  // every screen has a way out, and it should not pull the end to the front.
  const isEnd = (id: string) => known.get(id)?.kind === "end";
  layer.set(start, 0);
  const queue = [start];
  const ends = new Map<string, string>();
  for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
    order.push(id);
    for (const to of out.get(id) ?? []) {
      if (layer.has(to)) continue;
      if (isEnd(to)) {
        ends.set(to, id);
        continue;
      }
      layer.set(to, (layer.get(id) ?? 0) + 1);
      parent.set(to, id);
      queue.push(to);
    }
  }
  for (const [id, from] of ends) {
    layer.set(id, (layer.get(from) ?? 0) + 1);
    parent.set(id, from);
    order.push(id);
  }
  return { layer, parent, order };
}

function curve(from: PlacedNode, to: PlacedNode): string {
  const y1 = from.y + box.height / 2;
  const y2 = to.y + box.height / 2;
  if (to.x > from.x) {
    const x1 = from.x + box.width;
    const bend = Math.max(24, (to.x - x1) / 2);
    return `M${x1},${y1}C${x1 + bend} ${y1} ${to.x - bend} ${y2} ${to.x} ${y2}`;
  }
  const x2 = to.x + box.width;
  const bend = 30 + Math.abs(from.x - to.x) / 8;
  return `M${from.x + box.width},${y1}C${from.x + box.width + bend} ${y1} ${x2 + bend} ${y2} ${x2} ${y2}`;
}
