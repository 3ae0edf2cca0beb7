import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";
import type { Catalogue } from "virtual:words";
import { faults, flat, needsOf } from "./check";

const src = fileURLToPath(new URL("..", import.meta.url));
const folder = join(src, "../languages");
const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
const read = (name: string) => JSON.parse(readFileSync(join(folder, name), "utf8")) as Catalogue;
const english = read("en.json");
const texts = flat(english);

test.each(files)("%s says all that English says, and takes the same", (name) => {
  expect(faults(basename(name, ".json"), read(name), english)).toEqual([]);
});

test("what a translation lacks is told by its key", () => {
  const source = {
    files: {
      gone: "{n, plural, one {# file is} other {# files are}} gone from <b>{place}</b>",
      kind: "{kind, select, a {A} other {B}}",
      kept: "Kept",
    },
  };
  const about = { name: "العربية", direction: "rtl", reviewed: "" };
  const translated = {
    $language: about,
    files: {
      gone: "{n, plural, one {x} other {y}} {plce}",
      kind: "{kind, select, other {B}}",
      more: "x",
    },
  };
  expect(faults("ar", translated, source)).toEqual([
    "files.more: English has no such text",
    "files.gone: its values are n, plce, not n, place",
    "files.gone: its tags are none, not b",
    "files.gone: {n, plural} lacks few, many, two, zero",
    "files.kind: {kind, select} lacks a",
    "files.kept: missing. English: Kept",
  ]);
  expect(
    faults("ar", { $language: about, files: { kept: "{" } }, { files: { kept: "Kept" } }),
  ).toEqual(["files.kept: not well formed at 0: {"]);
  expect(faults("ar", {}, {})).toHaveLength(3);
});

interface Use {
  key: string;
  /** Whether it is drawn by <Say>; otherwise it becomes a string. */
  isDrawn: boolean;
  /** The names of what is given, where it is written out. */
  values: string[] | undefined;
  tags: string[] | undefined;
}

interface Source {
  /** Every text that is a key. */
  keys: Set<string>;
  uses: Use[];
  /** What it imports of the console's own. */
  imports: string[];
  /** The areas that it loads by itself. */
  loads: string[];
}

const names = (object: ts.Node | undefined): string[] | undefined => {
  if (!object) return [];
  if (!ts.isObjectLiteralExpression(object) || object.properties.some(ts.isSpreadAssignment))
    return undefined;
  return object.properties.map((p) => p.name?.getText() ?? "").sort();
};

function readSource(file: string): Source {
  const tree = ts.createSourceFile(
    file,
    readFileSync(file, "utf8"),
    ts.ScriptTarget.Latest,
    true,
    ts.ScriptKind.TSX,
  );
  const found: Source = { keys: new Set(), uses: [], imports: [], loads: [] };
  const look = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node)) {
      if (texts.has(node.text)) found.keys.add(node.text);
      const isImport =
        (ts.isImportDeclaration(node.parent) && !node.parent.importClause?.isTypeOnly) ||
        (ts.isExportDeclaration(node.parent) && !node.parent.isTypeOnly) ||
        (ts.isCallExpression(node.parent) &&
          node.parent.expression.kind === ts.SyntaxKind.ImportKeyword);
      if (isImport && node.text.startsWith(".")) found.imports.push(join(dirname(file), node.text));
    }
    if (ts.isCallExpression(node)) {
      const [id, values] = node.arguments;
      const called = node.expression.getText();
      if (called === "say" && id && ts.isStringLiteralLike(id)) {
        found.uses.push({ key: id.text, isDrawn: false, values: names(values), tags: [] });
      }
      if (called === "loadWords") {
        for (const area of node.arguments)
          if (ts.isStringLiteralLike(area)) found.loads.push(area.text);
      }
    }
    if (ts.isJsxSelfClosingElement(node) && node.tagName.getText() === "Say") {
      const given = new Map(
        node.attributes.properties.filter(ts.isJsxAttribute).map((a) => {
          const value = a.initializer;
          return [a.name.getText(), value && ts.isJsxExpression(value) ? value.expression : value];
        }),
      );
      const id = given.get("id");
      if (id && ts.isStringLiteralLike(id)) {
        found.uses.push({
          key: id.text,
          isDrawn: true,
          values: names(given.get("values")),
          tags: names(given.get("tags")),
        });
      }
    }
    ts.forEachChild(node, look);
  };
  look(tree);
  return found;
}

const sources = new Map(
  readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !/\.(test|d)\.tsx?$/.test(name))
    .map((name): [string, Source] => [join(src, name), readSource(join(src, name))]),
);

test("every text is used", () => {
  const used = new Set([...sources.values()].flatMap(({ keys }) => [...keys]));
  // A test of the program compares titles with what it names.
  const unused = [...texts.keys()].filter((key) => !used.has(key) && !key.startsWith("titles."));
  expect(unused).toEqual([]);
});

test("what is used is given the values and tags that it takes", () => {
  const wrong: string[] = [];
  for (const [file, { uses }] of sources) {
    for (const { key, isDrawn, values, tags } of uses) {
      const needs = needsOf(texts.get(key) ?? "");
      const said = `${relative(src, file)}: ${key}`;
      if (!texts.has(key)) wrong.push(`${said} is missing in en.json`);
      if (values && String(values) !== String(needs.values)) {
        wrong.push(
          `${said} takes ${needs.values.join(", ") || "nothing"}, and is given ${values.join(", ") || "nothing"}`,
        );
      }
      if (!isDrawn && needs.tags.length > 0) wrong.push(`${said} has tags: use <Say>`);
      if (isDrawn && tags && String(tags) !== String(needs.tags)) {
        wrong.push(
          `${said} has the tags ${needs.tags.join(", ") || "none"}, and is given ${tags.join(", ") || "none"}`,
        );
      }
    }
  }
  expect(wrong).toEqual([]);
});

/** Everything that a module may run, by the files of the console. */
function reached(from: string, all = new Set<string>()): Set<string> {
  const file = [
    from,
    `${from}.ts`,
    `${from}.tsx`,
    join(from, "index.ts"),
    join(from, "index.tsx"),
  ].find((f) => sources.has(f));
  if (!file || all.has(file)) return all;
  all.add(file);
  for (const next of sources.get(file)?.imports ?? []) reached(next, all);
  return all;
}

const routes = [
  ...readFileSync(join(src, "App.tsx"), "utf8").matchAll(
    /\(\s*(\[[^\]]*\]),\s*\(\) =>\s*import\("([^"]+)"\)/g,
  ),
].map(([, areas = "[]", page = ""]): [string, string[]] => [page, JSON.parse(areas) as string[]]);

test("there are routes to check", () => {
  expect(routes.length).toBeGreaterThan(10);
});

test.each(routes)("%s loads the words of all that it shows", (page, areas) => {
  const files = [...reached(join(src, page))];
  const loaded = new Set(["shell", "identity", "chat", "ui", ...areas]);
  for (const file of files) for (const area of sources.get(file)?.loads ?? []) loaded.add(area);
  const strange = files.flatMap((file) =>
    [...(sources.get(file)?.keys ?? [])]
      .filter((key) => !loaded.has(key.split(".")[0] ?? ""))
      .map((key) => `${relative(src, file)}: ${key}`),
  );
  expect(strange).toEqual([]);
});
