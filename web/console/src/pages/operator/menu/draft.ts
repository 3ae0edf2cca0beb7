import { say, type Key } from "../../../words";
import { airTime, type AirTime, type ScreenSize } from "../../telephone/septets";
import type { MenuGraph } from "../layout";

/** A menu as the server hands it out: the tree of its text, in the order of the text. */
export type Value = string | number | boolean | Value[] | Tree;
export interface Tree {
  [key: string]: Value;
}

export interface Part {
  line: number;
  menu: Tree;
  comments?: Record<string, string[]>;
}

export interface Issue {
  line: number;
  path?: string;
  message: string;
}

export interface Size {
  used: number;
  limit: number;
  unit: string;
}

/** What a draft comes to. */
export interface Draft {
  text: string;
  parts: Part[];
  plain?: string;
  issues: Issue[];
  menus?: { name: string; codes?: string[]; pages: Record<string, Record<string, Size[]>> }[];
  runs: Record<string, string[]>;
  guards: string[];
  kinds: string[];
}

export function treeOf(value: Value | undefined): Tree {
  return typeof value === "object" && !Array.isArray(value) ? value : {};
}

/** What a tree itself has under a name, which may be the name of something that every object has. */
function own(value: Value | undefined, name: string): Value | undefined {
  const tree = treeOf(value);
  return Object.hasOwn(tree, name) ? tree[name] : undefined;
}

export function listOf(value: Value | undefined): Value[] {
  return Array.isArray(value) ? value : [];
}

export function wordOf(value: Value | undefined): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** The tree with a value at a path; undefined takes the field away. */
export function put(tree: Tree, path: (string | number)[], value: Value | undefined): Tree {
  return placed(tree, path, value) as Tree;
}

function placed(
  here: Value | undefined,
  path: (string | number)[],
  value: Value | undefined,
): Value | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (typeof key === "number") {
    const list = [...listOf(here)];
    const next = placed(list[key], rest, value);
    if (next === undefined) list.splice(key, 1);
    else list[key] = next;
    return list;
  }
  const tree = treeOf(here);
  const next = placed(tree[key], rest, value);
  if (next !== undefined) return { ...tree, [key]: next };
  return Object.fromEntries(Object.entries(tree).filter(([name]) => name !== key));
}

/** The languages of a menu, its own first; a shared part speaks those of its texts. */
export function languagesOf(menu: Tree): string[] {
  const own = listOf(menu.languages).map(wordOf).filter(Boolean);
  if (own.length > 0) return own;
  const found = new Set<string>();
  for (const screen of Object.values(treeOf(menu.screens))) {
    for (const language of Object.keys(treeOf(treeOf(screen).text))) found.add(language);
  }
  return [...found];
}

export interface Target {
  when: string;
  to: string;
  notice?: Tree;
}

/** Where something leads: a name, a condition and a name, or a list of those. */
export function targetsOf(next: Value | undefined): Target[] {
  const all = Array.isArray(next) ? next : next === undefined ? [] : [next];
  return all.map((one) => {
    if (typeof one !== "object") return { when: "", to: wordOf(one) };
    const tree = treeOf(one);
    const notice = treeOf(tree.notice);
    return {
      when: wordOf(tree.when),
      to: wordOf(tree.to),
      ...(Object.keys(notice).length > 0 ? { notice } : {}),
    };
  });
}

/** The shortest way to write targets; none is no field at all. */
export function nextOf(targets: Target[]): Value | undefined {
  const trees = targets.map(({ when, to, notice }) => ({
    ...(when ? { when } : {}),
    to,
    ...(notice ? { notice } : {}),
  }));
  const [first] = trees;
  if (first === undefined) return undefined;
  if (trees.length > 1) return trees;
  return "when" in first || "notice" in first ? first : first.to;
}

const special: Record<string, Key> = {
  ":start": "menu.firstScreen",
  ":exit": "menu.endOfCall",
  ":same": "menu.sameScreen",
  ":resume": "menu.cutOff",
};

/** What a target is called in a list to choose from. */
export function targetName(menu: Tree, to: string): string {
  const always = Object.hasOwn(special, to) && special[to];
  if (always) return say(always);
  const screen = own(menu.screens, to);
  if (screen !== undefined) {
    const line = firstLine(treeOf(screen), languagesOf(menu)[0]);
    return say("menu.screenNamed", { name: to, line });
  }
  const action = own(menu.actions, to);
  if (action === undefined) return to;
  return say("menu.actionNamed", { name: to, run: wordOf(treeOf(action).run) });
}

export const specialTargets = Object.keys(special);

export function firstLine(screen: Tree, language = ""): string {
  const line = wordOf(treeOf(screen.text)[language]).split("\n")[0] ?? "";
  return line.length > 40 ? `${line.slice(0, 39)}…` : line;
}

/** Every screen and action, with those that lead there. */
export function leadsTo(menu: Tree, wanted: string): string[] {
  const found: string[] = [];
  for (const [id, screen] of Object.entries(treeOf(menu.screens))) {
    if (id !== wanted && waysOf(treeOf(screen)).some((way) => way.to === wanted)) found.push(id);
  }
  for (const [id, action] of Object.entries(treeOf(menu.actions))) {
    const ways = Object.values(treeOf(treeOf(action).on)).flatMap(targetsOf);
    if (ways.some((way) => way.to === wanted)) found.push(id);
  }
  return found;
}

function waysOf(screen: Tree): { to: string; label: Value | undefined; key: string }[] {
  const ways = listOf(screen.options).flatMap((one) => {
    const option = treeOf(one);
    return targetsOf(option.next).map(({ to }) => ({
      to,
      label: option.label,
      key: wordOf(option.key),
    }));
  });
  for (const { to } of targetsOf(treeOf(screen.input).next)) ways.push({ to, label: "", key: "" });
  for (const { to } of targetsOf(screen.back)) ways.push({ to, label: "", key: "" });
  return ways;
}

/** The draft as a drawing, also while the check finds faults in it. */
export function graphOf(menu: Tree): MenuGraph {
  const screens = treeOf(menu.screens);
  const actions = treeOf(menu.actions);
  const [language] = languagesOf(menu);
  const start = wordOf(menu.start) || (Object.keys(screens)[0] ?? "");
  const goal = (from: string, to: string) =>
    to === ":start" || to === ":resume"
      ? start
      : to === ":exit"
        ? wordOf(menu.exit)
        : to === ":same"
          ? from
          : to;
  const nodes = Object.entries(screens).map(([id, one]) => {
    const screen = treeOf(one);
    const kind = screen.end === true ? "end" : screen.input === undefined ? "menu" : "input";
    return { id, state: id, kind, text: wordOf(treeOf(screen.text)[language ?? ""]), count: 0 };
  });
  const edges: MenuGraph["edges"] = [];
  const reach = (from: string, to: string, label: string, seen: string[]) => {
    const at = goal(from, to);
    const action = actions[at];
    if (action === undefined) {
      edges.push({ from, to: at, label, count: 0 });
      return;
    }
    if (seen.includes(at)) return;
    for (const next of Object.values(treeOf(treeOf(action).on))) {
      for (const way of targetsOf(next)) reach(from, way.to, label, [...seen, at]);
    }
  };
  for (const [id, one] of Object.entries(screens)) {
    const screen = treeOf(one);
    for (const way of waysOf(screen)) {
      reach(id, way.to, `${way.key} ${wordOf(treeOf(way.label)[language ?? ""])}`.trim(), []);
    }
    if (screen.exit === true) reach(id, ":exit", say("menu.exit"), []);
  }
  return { name: wordOf(menu.name), version: "", start, nodes, edges };
}

/** What a screen takes on the air in a language, with every value as long as it may be. */
export function screenSize(menu: Tree, id: string, language: string, room?: ScreenSize): AirTime {
  const screen = treeOf(treeOf(menu.screens)[id]);
  const variables = treeOf(menu.variables);
  const labels = treeOf(menu.labels);
  const keys = treeOf(menu.keys);
  const said = (text: Value | undefined) =>
    wordOf(treeOf(text)[language])
      .replace(/\n+$/, "")
      .replace(/\{\{\s*([^}]*?)\s*\}\}/g, (_, name: string) =>
        "x".repeat(
          Math.min(Math.max(Math.trunc(Number(treeOf(variables[name]).max)) || 0, 0), 500),
        ),
      );
  const lines = [said(screen.text)];
  for (const one of listOf(screen.options)) {
    const option = treeOf(one);
    if (option.hidden !== true) lines.push(`${wordOf(option.key)}. ${said(option.label)}`);
  }
  if (targetsOf(screen.back).length > 0)
    lines.push(`${wordOf(keys.back) || "0"}. ${said(labels.back)}`);
  if (screen.exit === true) lines.push(`${wordOf(keys.exit) || "*"}. ${said(labels.exit)}`);
  return airTime(lines.join("\n"), room);
}

/** Gives a screen or an action another name, everywhere. */
export function renamed(menu: Tree, kind: "screens" | "actions", from: string, to: string): Tree {
  const next = (value: Value | undefined) =>
    nextOf(targetsOf(value).map((t) => (t.to === from ? { ...t, to } : t)));
  const with_ = (tree: Tree, field: string): Tree =>
    tree[field] === undefined ? tree : put(tree, [field], next(tree[field]));
  const screens = Object.entries(treeOf(menu.screens)).map(([id, one]): [string, Value] => {
    let screen = with_(treeOf(one), "back");
    if (screen.input !== undefined) {
      screen = put(screen, ["input"], with_(treeOf(screen.input), "next"));
    }
    if (screen.options !== undefined) {
      screen = put(
        screen,
        ["options"],
        listOf(screen.options).map((o) => with_(treeOf(o), "next")),
      );
    }
    return [kind === "screens" && id === from ? to : id, screen];
  });
  const actions = Object.entries(treeOf(menu.actions)).map(([id, one]): [string, Value] => {
    const on = Object.keys(treeOf(treeOf(one).on)).reduce(with_, treeOf(treeOf(one).on));
    return [kind === "actions" && id === from ? to : id, put(treeOf(one), ["on"], on)];
  });
  let all = put(menu, ["screens"], Object.fromEntries(screens));
  if (menu.actions !== undefined) all = put(all, ["actions"], Object.fromEntries(actions));
  if (kind === "actions") return all;
  for (const role of ["start", "exit", "resume", "login", "language"]) {
    if (all[role] === from) all = put(all, [role], to);
  }
  return all;
}

/** What the check says of a field and of what is in it. */
export function findingsAt(issues: Issue[], path: string): Issue[] {
  return issues.filter(({ path: at }) => {
    if (at === undefined || !at.startsWith(path)) return false;
    return at.length === path.length || at[path.length] === "." || at[path.length] === "[";
  });
}

/** The part of the draft that an issue is in: the last that begins above its line. */
export function partOf(parts: Part[], issue: Issue): number {
  return Math.max(
    0,
    parts.findLastIndex((part) => part.line <= issue.line),
  );
}

export interface Change {
  kind: "same" | "added" | "removed" | "gap";
  text: string;
}

/** More lines than these are not looked through for what they have in common. */
const maxCompared = 3000;

/** The lines that differ between two texts, each with some lines around it. */
export function compare(before: string, after: string, around = 2): Change[] {
  const a = before.split("\n");
  const b = after.split("\n");
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail))
    tail++;
  const middle = between(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  const same = (text: string): Change => ({ kind: "same", text });
  const all = [...a.slice(0, head).map(same), ...middle, ...a.slice(a.length - tail).map(same)];
  const near = all.map((_, i) =>
    all.slice(Math.max(0, i - around), i + around + 1).some((c) => c.kind !== "same"),
  );
  const out: Change[] = [];
  all.forEach((change, i) => {
    if (near[i]) out.push(change);
    else if (out.at(-1)?.kind !== "gap") out.push({ kind: "gap", text: "" });
  });
  return all.some((c) => c.kind !== "same") ? out : [];
}

function between(a: string[], b: string[]): Change[] {
  const removed = (text: string): Change => ({ kind: "removed", text });
  const added = (text: string): Change => ({ kind: "added", text });
  if (a.length > maxCompared || b.length > maxCompared) return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number) => longest[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * width + j] =
        a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const out: Change[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const left = a[i];
    const right = b[j];
    if (left !== undefined && left === right) {
      out.push({ kind: "same", text: left });
      i++;
      j++;
    } else if (left !== undefined && (right === undefined || at(i + 1, j) >= at(i, j + 1))) {
      out.push(removed(left));
      i++;
    } else if (right !== undefined) {
      out.push(added(right));
      j++;
    }
  }
  return out;
}

/** The screens that are new, gone or other than before, in words. */
export function changedScreens(before: Part[], after: Part[]): string[] {
  const all = (parts: Part[]) => {
    const found = new Map<string, string>();
    parts.forEach(({ menu }, i) => {
      const where =
        parts.length > 1 ? ` (${wordOf(menu.name) || wordOf(menu.shared) || i + 1})` : "";
      for (const kind of ["screens", "actions"]) {
        for (const [id, one] of Object.entries(treeOf(menu[kind]))) {
          found.set(`${id}${where}`, JSON.stringify(one));
        }
      }
    });
    return found;
  };
  const old = all(before);
  const now = all(after);
  const words: string[] = [];
  for (const [id, text] of now) {
    const was = old.get(id);
    if (was === undefined) words.push(say("menu.isNew", { name: id }));
    else if (was !== text) words.push(say("menu.isChanged", { name: id }));
  }
  for (const id of old.keys()) if (!now.has(id)) words.push(say("menu.isGone", { name: id }));
  return words;
}
