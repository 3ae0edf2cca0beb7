import { say } from "../../words";

/** Something that an operator asked for. */
export interface Act {
  id: string;
  at: string;
  actor: string;
  role: string;
  act: string;
  target: string;
  status: number;
}

export interface Acts {
  acts: Act[];
  next?: string;
}

/** Which acts are wanted: of one person or of one kind, within a time. */
export interface Wanted {
  by: "all" | "actor" | "act";
  text: string;
  /** As a date field gives it, in the reader's time. */
  since: string;
  until: string;
}

export const everything: Wanted = { by: "all", text: "", since: "", until: "" };

/** The query of the routes; what is not a time is not asked for. */
export function auditQuery(wanted: Wanted, before = ""): string {
  const asked = new URLSearchParams();
  const text = wanted.text.trim();
  if (wanted.by !== "all" && text) asked.set(wanted.by, text);
  for (const edge of ["since", "until"] as const) {
    const at = new Date(wanted[edge]);
    if (wanted[edge] && !Number.isNaN(at.getTime())) asked.set(edge, at.toISOString());
  }
  if (before) asked.set("before", before);
  const query = asked.toString();
  return query ? `?${query}` : "";
}

/** How it ended, in words. */
export function ending(status: number): string {
  if (status === 0) return say("operator.endUnknown");
  if (status < 400) return say("operator.done");
  if (status === 401 || status === 403) return say("operator.refused");
  return say(status < 500 ? "operator.notAccepted" : "operator.failed");
}
