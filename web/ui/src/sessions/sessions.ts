import type { Labels } from "../labels";

type Days = Pick<Labels, "today" | "yesterday" | "thisWeek" | "earlierDays">;

interface Listed {
  lastUpdatedAt: string;
}

/** What a conversation is called; the oracle says "Untitled" until it has found a title. */
export function titleOf(session: { title?: string } | undefined, otherwise: string): string {
  return session?.title && session.title !== "Untitled" ? session.title : otherwise;
}

/** A line of Markdown without its marks, as far as they stand out. */
export function unmarked(line: string): string {
  return line.replace(/(^|\s)(?:#{1,6}|>|[-*+])(?=\s)|\*\*|__|`/g, "$1").replace(/\s+/g, " ");
}

function label(when: number, now: number, labels: Days): string {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  if (when >= midnight) return labels.today;
  if (when >= midnight - 86_400_000) return labels.yesterday;
  if (when >= midnight - 6 * 86_400_000) return labels.thisWeek;
  return labels.earlierDays;
}

/** Sessions under the day on which they were last used, in the order given. */
export function byDay<T extends Listed>(sessions: T[], now: number, labels: Days): [string, T[]][] {
  const days = new Map<string, T[]>();
  for (const s of sessions) {
    const day = label(new Date(s.lastUpdatedAt).getTime(), now, labels);
    const known = days.get(day);
    if (known) known.push(s);
    else days.set(day, [s]);
  }
  return [...days];
}
