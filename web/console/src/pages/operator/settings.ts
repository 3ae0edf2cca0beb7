import { say, titleOf, type Key } from "../../words";

/** A setting as the server tells operators; secrets are masked there. */
export interface Setting {
  part: string;
  name: string;
  value: string;
  source: "default" | "file" | "environment" | "flag" | "database";
  default?: string;
  secret?: boolean;
  /** The document that operators change in its place, while the program runs. */
  document?: string;
  doc: string;
}

/** A document that changes while the program runs. */
export interface OperatorDocument {
  name: string;
  source: string;
  where?: string;
  restart: boolean;
}

export interface Settings {
  node: string;
  settings: Setting[];
  documents: OperatorDocument[];
}

const sources: Record<Setting["source"], Key> = {
  default: "operator.notSet",
  file: "operator.fromFile",
  environment: "operator.fromEnvironment",
  flag: "operator.fromCommandLine",
  database: "operator.fromOperators",
};

/** Where a value comes from, in words. */
export function sourceOf({ source }: Setting): string {
  return say(sources[source]);
}

/** Where a document comes from, in words. */
export function documentSourceOf({ source }: OperatorDocument): string {
  const known: Partial<Record<string, Key>> = sources;
  return say(known[source] ?? "operator.builtIn");
}

/** The settings that have all the words, by their part, in the order of the server. */
export function grouped(all: Setting[], words: string, isSetOnly: boolean): [string, Setting[]][] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const parts = new Map<string, Setting[]>();
  for (const one of all) {
    if (isSetOnly && one.source === "default") continue;
    // What a secret is like is nobody's to search for.
    const text =
      `${one.name} ${titleOf(one.name) ?? ""} ${one.doc} ${one.secret ? "" : one.value}`.toLowerCase();
    if (!wanted.every((word) => text.includes(word))) continue;
    parts.set(one.part, [...(parts.get(one.part) ?? []), one]);
  }
  return [...parts];
}
