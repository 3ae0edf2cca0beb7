interface Listed {
  lastUpdatedAt: string;
}

/** What a conversation is called; the oracle says "Untitled" until it has found a title. */
export function titleOf(
  session: { title?: string } | undefined,
  otherwise = "New conversation",
): string {
  return session?.title && session.title !== "Untitled" ? session.title : otherwise;
}

/** A line of Markdown without its marks, as far as they stand out. */
export function unmarked(line: string): string {
  return line.replace(/(^|\s)(?:#{1,6}|>|[-*+])(?=\s)|\*\*|__|`/g, "$1").replace(/\s+/g, " ");
}

function label(when: number, now: number): string {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  if (when >= midnight) return "Today";
  if (when >= midnight - 86_400_000) return "Yesterday";
  if (when >= midnight - 6 * 86_400_000) return "This week";
  return "Earlier";
}

/** Sessions under the day on which they were last used, in the order given. */
export function byDay<T extends Listed>(sessions: T[], now: number): [string, T[]][] {
  const days = new Map<string, T[]>();
  for (const s of sessions) {
    const day = label(new Date(s.lastUpdatedAt).getTime(), now);
    const known = days.get(day);
    if (known) known.push(s);
    else days.set(day, [s]);
  }
  return [...days];
}
