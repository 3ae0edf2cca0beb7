import { ask } from "../api";
import type { Session } from "../../../identity/session";
import { say, type Key } from "../../../words";

/** A document that changes while the program runs, as its editor sees it. */
export interface Ruled {
  source: "environment" | "file" | "database" | "built in";
  /** The variable or the file that rules. */
  where?: string;
  readOnly: boolean;
  /** The newest stored version, which a change follows. */
  newest: number;
  /** Why the newest version is not in force. */
  problem?: string;
}

export interface StoredText extends Ruled {
  name: string;
  text: string;
}

export interface Version {
  version: number;
  author: string;
  note?: string;
  written: string;
  removed?: boolean;
  restores?: number;
}

export const documentPath = (name: string) => `/operator/documents/${name}`;
export const historyPath = (name: string) => `${documentPath(name)}/versions?limit=10`;

/** Says over which version something is stored: when somebody else was first, it is refused. */
export const over = (newest: number) => ({ "If-Match": `"${newest}"` });

export type Door = "open" | "invite" | "closed";

export const doors: [Door, Key][] = [
  ["open", "choices.open"],
  ["invite", "choices.invite"],
  ["closed", "choices.closed"],
];

/** The document that lets them in. */
export const doorText = (door: Door) => `access: ${door}\n`;

/** The document that calls the oracle so. YAML reads a text in JSON as it is meant. */
export const nameText = (name: string) => `name: ${JSON.stringify(name)}\n`;

export type Kind = "guide" | "openai" | "anthropic";

export const kinds: [Kind, Key][] = [
  ["guide", "choices.kindGuide"],
  ["openai", "choices.kindOpenai"],
  ["anthropic", "choices.kindAnthropic"],
];

/** The model that answers, as GET /operator/models/single says it. */
export interface Single extends Ruled {
  kind: Kind;
  address?: string;
  model?: string;
  keyGiven: boolean;
  /** The document says nothing else. */
  whole: boolean;
}

export const singlePath = "/operator/models/single";

/** What an operator typed. */
export interface Typed {
  kind: Kind;
  address: string;
  model: string;
  key: string;
}

/**
 * What is sent of it. A stored key goes with its address alone: it is kept where nothing was typed
 * and the address is the same, and given up where that is another.
 */
export function asked(typed: Typed, now: Single): object {
  if (typed.kind === "guide") return { kind: "guide" };
  const [address, model, key] = [typed.address.trim(), typed.model.trim(), typed.key.trim()];
  const isKept = key === "" && now.kind === typed.kind && (now.address ?? "") === address;
  return { kind: typed.kind, address, model, ...(isKept ? {} : { key }) };
}

export interface Check {
  ok: boolean;
  findings: { endpoint: string; model?: string; ok: boolean; problem?: string }[];
}

export function tryModel(session: Session, body: object): Promise<Check> {
  return ask<Check>(session, "/operator/models/try", "POST", body);
}

/** What a check found, a sentence for each. */
export function found({ findings }: Check): string[] {
  const told = findings.filter(({ ok, model }) => !ok || model);
  if (told.length === 0) return [say("choices.guideAnswers")];
  return told.map(({ endpoint, model, ok, problem }) =>
    say("choices.finding", {
      model: model ?? endpoint,
      finding: ok ? say("choices.answers") : (problem ?? say("choices.answersNot")),
    }),
  );
}
