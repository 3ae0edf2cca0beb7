import { say } from "../../words";

/** What GET /operator/health says. */
export interface Report {
  ok: boolean;
  parts: {
    name: string;
    ok: boolean;
    needed: boolean;
    causes: { text: string; since: string }[];
  }[];
}

/** What GET /ready says, to everybody. */
export interface Ready {
  ready: boolean;
  checks: Record<string, string>;
}

/** A part of the node as it is shown. */
export interface Part {
  name: string;
  isWell: boolean;
  /** What its trouble does to the rest. */
  weight: "needed" | "alone" | "unknown";
  causes: { text: string; since?: string }[];
  /** Platforms can ask for this part alone. */
  isProbed: boolean;
}

/**
 * The parts by both answers, those in trouble first. A part is well when nobody says
 * otherwise: what one answer calls well and the other does not is in trouble.
 */
export function partsOf(report: Report, ready: Ready): Part[] {
  const checks = new Map(Object.entries(ready.checks));
  const told = report.parts.map(({ name, ok, needed, causes }): Part => {
    const state = checks.get(name);
    checks.delete(name);
    const isRefused = state !== undefined && state !== "ok";
    return {
      name,
      isWell: ok && causes.length === 0 && !isRefused,
      weight: needed ? "needed" : "alone",
      causes: causes.length > 0 || !isRefused ? causes : [{ text: state }],
      isProbed: state !== undefined,
    };
  });
  const others = [...checks].map(([name, state]): Part => {
    const isWell = state === "ok";
    const causes = isWell ? [] : [{ text: state }];
    return { name, isWell, weight: "unknown", causes, isProbed: true };
  });
  return [...told, ...others].sort((a, b) => Number(a.isWell) - Number(b.isWell));
}

/** The whole in a few words: good only when everything is. */
export function wholeOf(parts: Part[], ready: Ready, status: string): [string, "good" | "bad"] {
  const ill = parts.filter((part) => !part.isWell).length;
  if (ill > 0) return [say("operator.partsInTrouble", { count: ill }), "bad"];
  if (!ready.ready) return [say("operator.notReady"), "bad"];
  return status === "ok" ? [say("operator.allIsWell"), "good"] : [status, "bad"];
}

/** What a part is called, in the reader's language where it is one of those that we know. */
export function nameOf({ name }: Part): string {
  return say("operator.partName", { part: name.replaceAll(" ", "_"), name });
}
