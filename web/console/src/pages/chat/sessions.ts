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

/** A text in parts, those that a search looks for marked. */
export function marked(text: string, search: string): { text: string; isFound: boolean }[] {
  const words = search.split(/\s+/).filter(Boolean);
  if (words.length === 0) return [{ text, isFound: false }];
  const any = words.map((w) => w.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|");
  return text
    .split(new RegExp(`(${any})`, "giu"))
    .map((part, i) => ({ text: part, isFound: i % 2 === 1 }))
    .filter((part) => part.text !== "");
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
