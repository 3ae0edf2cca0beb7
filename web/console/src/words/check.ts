import type { Catalogue } from "virtual:words";
import { parse, type Node } from "./message";

/** What a message takes: its values and tags, and the forms of its plurals. */
export interface Needs {
  values: string[];
  tags: string[];
  /** By the value that is counted, or chosen by. */
  forms: [name: string, kind: "plural" | "select", forms: string[]][];
}

export function needsOf(text: string): Needs {
  const values = new Set<string>();
  const tags = new Set<string>();
  const forms: Needs["forms"] = [];
  const look = (nodes: readonly Node[]): void => {
    for (const node of nodes) {
      if (typeof node === "string") continue;
      if ("tag" in node) {
        tags.add(node.tag);
        look(node.inside);
        continue;
      }
      values.add(node.name);
      if (!("kind" in node)) continue;
      forms.push([node.name, node.kind, Object.keys(node.forms)]);
      Object.values(node.forms).forEach(look);
    }
  };
  look(parse(text));
  return { values: [...values].sort(), tags: [...tags].sort(), forms };
}

/** Texts by "area.key". */
export function flat(file: Catalogue): Map<string, string> {
  const areas = Object.entries(file).filter(([area]) => area !== "$language");
  return new Map(
    areas.flatMap(([area, texts]) =>
      Object.entries(texts).map(([key, text]): [string, string] => [`${area}.${key}`, text]),
    ),
  );
}

/** What a language file lacks beside English, in words for who translates. */
export function faults(code: string, file: Catalogue, english: Catalogue): string[] {
  const found: string[] = [];
  const { name, direction, reviewed } = file["$language"] ?? {};
  if (!name) found.push("$language.name: how the language calls itself is missing");
  if (direction !== "ltr" && direction !== "rtl") {
    found.push("$language.direction: write ltr or rtl");
  }
  if (reviewed === undefined) {
    found.push("$language.reviewed: write who read it all; nobody yet is an empty text");
  }
  const source = flat(english);
  const texts = flat(file);
  for (const key of texts.keys())
    if (!source.has(key)) found.push(`${key}: English has no such text`);
  const categories = new Intl.PluralRules(code).resolvedOptions().pluralCategories;
  for (const [key, original] of source) {
    const text = texts.get(key);
    if (!text) {
      found.push(`${key}: missing. English: ${original}`);
      continue;
    }
    try {
      found.push(...differences(text, original, categories).map((what) => `${key}: ${what}`));
    } catch (cause) {
      found.push(`${key}: ${(cause as Error).message}`);
    }
  }
  return found;
}

function differences(text: string, original: string, categories: string[]): string[] {
  const found: string[] = [];
  const [has, needs] = [needsOf(text), needsOf(original)];
  for (const what of ["values", "tags"] as const) {
    if (String(has[what]) !== String(needs[what])) {
      found.push(
        `its ${what} are ${has[what].join(", ") || "none"}, not ${needs[what].join(", ")}`,
      );
    }
  }
  for (const [name, kind, forms] of has.forms) {
    const wanted =
      kind === "plural"
        ? categories
        : needs.forms.flatMap(([n, k, all]) => (n === name && k === kind ? all : []));
    const missing = wanted.filter((form) => !forms.includes(form));
    if (missing.length > 0) found.push(`{${name}, ${kind}} lacks ${missing.join(", ")}`);
  }
  return found;
}
