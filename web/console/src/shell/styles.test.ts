import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

// All sheets end up in one document. A page that styles a class of another page,
// or one of the shell's by its bare name, changes pages that nobody looked at.

const root = new URL("..", import.meta.url);

/** The files below src with one of these endings, each with the page it belongs to. */
function files(ending: string): { name: string; owner: string; text: string }[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .map((name) => {
      const [area = "", page = ""] = name.split("/");
      return {
        name,
        owner: area === "pages" ? page : area,
        text: readFileSync(new URL(name, root), "utf8"),
      };
    });
}

const classes = (text: string) => [...text.matchAll(/\.([A-Za-z_][\w-]*)/g)].map((m) => m[1] ?? "");

/** The selectors of a sheet, one by one. */
function selectors(sheet: string): string[] {
  return [
    ...sheet
      .replace(/\/\*[\s\S]*?\*\//g, "")
      .replace(/@keyframes[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}/g, "")
      .matchAll(/([^{};]+)\{/g),
  ]
    .map((m) => (m[1] ?? "").trim())
    .filter((selector) => !selector.startsWith("@"))
    .flatMap((selector) => selector.split(/,(?![^()]*\))/))
    .map((selector) => selector.trim());
}

const rules = files(".css").flatMap(({ name, owner, text }) =>
  selectors(text).map((selector) => ({
    name,
    owner,
    selector,
    first: classes(selector.split(/[\s>+~]/)[0] ?? ""),
  })),
);

/** Who has rules that begin with a class. */
const begun = new Map<string, Set<string>>();
const styled = new Map<string, Set<string>>();
for (const { owner, selector, first } of rules) {
  for (const name of first) begun.set(name, (begun.get(name) ?? new Set()).add(owner));
  for (const name of classes(selector)) {
    styled.set(name, (styled.get(name) ?? new Set()).add(owner));
  }
}

test("every rule of a page begins with a class that is the page's alone", () => {
  expect(rules.length).toBeGreaterThan(300);
  const strays = rules
    .filter(({ owner }) => owner !== "shell")
    .filter(({ owner, first }) => {
      return !first.some((name) => [...(begun.get(name) ?? [])].join() === owner);
    })
    .map(({ name, selector }) => `${name}: ${selector}`);
  expect(strays).toEqual([]);
});

test("no page wears a class that only other pages' sheets know", () => {
  const borrowed = files(".tsx").flatMap(({ name, owner, text }) => {
    const sheets = new Set([
      owner,
      "shell",
      ...[...text.matchAll(/import "\.\.\/(\w+)\/\w+\.css"/g)].map((m) => m[1] ?? ""),
    ]);
    return [...text.matchAll(/className=(?:"([^"]*)"|\{([^}]*)\})/g)]
      .flatMap(
        (m) => m[1] ?? [...(m[2] ?? "").matchAll(/["`]([^"`]*)["`]/g)].map((q) => q[1] ?? ""),
      )
      .flatMap((list) => list.split(/\s+/))
      .filter((one) => {
        const owners = styled.get(one);
        return owners !== undefined && ![...owners].some((o) => sheets.has(o));
      })
      .map((one) => `${name}: ${one}`);
  });
  expect(borrowed).toEqual([]);
});

test("no sheet knows left and right: lines may run either way", () => {
  const library = readFileSync(new URL("../../ui/styles.css", root), "utf8");
  const sheets = [...files(".css"), { name: "ui/styles.css", text: library }];
  const physical =
    /^\s*((margin|padding|border|inset)-(left|right)\b.*|float:.*|text-align: (left|right)|(left|right): (?!50%).*|(margin|padding): \S+ (\S+) \S+ (?!\6;)\S+);/gm;
  const found = sheets.flatMap(({ name, text }) =>
    [...text.matchAll(physical)].map((m) => `${name}: ${m[1]}`),
  );
  expect(found).toEqual([]);
});
