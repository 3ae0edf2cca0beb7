interface Listed {
  title?: string;
  lastUpdatedAt: string;
}

/** Those with every word of the search in their title. */
export function matching<T extends Listed>(sessions: T[], search: string): T[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return sessions.filter((s) => words.every((w) => (s.title ?? "").toLowerCase().includes(w)));
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
