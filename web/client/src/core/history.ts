import type { IMessage, StoredMessage } from "./types";

/**
 * Puts a fresh newest page over what was known: older pages stay, and a message
 * that did not change keeps its identity, so that nothing flickers. It tells
 * whether the page joins what was known; if not, the older part is forgotten,
 * because nobody knows what lies between.
 */
export function merge(
  known: IMessage[],
  fresh: IMessage[],
): { messages: IMessage[]; joined: boolean } {
  const byId = new Map(known.map((m) => [m.id, m]));
  const settled = fresh.map((m) => {
    const old = byId.get(m.id);
    return old && JSON.stringify(old) === JSON.stringify(m) ? old : m;
  });
  const first = fresh[0];
  const at = first ? known.findIndex((m) => m.id === first.id) : -1;
  return { messages: at > 0 ? [...known.slice(0, at), ...settled] : settled, joined: at >= 0 };
}

/**
 * Finds which stored messages are those that the page shows already, under the
 * ids it gave them itself. They keep these ids, so that no entry is drawn anew
 * when the history takes over.
 */
export function adopt(
  stored: StoredMessage[],
  shown: IMessage[],
  isKnown: (id: string) => boolean,
): Map<string, string> {
  const ids = new Map<string, string>();
  let from = 0;
  for (const m of stored) {
    if (isKnown(m.id)) continue;
    const at = shown.findIndex(
      (s, i) => i >= from && s.type === m.type && (m.type === "ai" || s.content === m.content),
    );
    const found = shown[at];
    if (!found) continue;
    ids.set(m.id, found.id);
    from = at + 1;
  }
  return ids;
}

/** An entry that no history holds, and the one that it follows. */
export interface Extra {
  message: IMessage;
  after: string | undefined;
}

/**
 * Puts the extras where they came up; those whose place is gone come last, and
 * components that the history shows by now are left out.
 */
export function place(messages: IMessage[], all: Extra[]): IMessage[] {
  if (all.length === 0) return messages;
  const stored = messages.flatMap((m) =>
    (m.toolCalls ?? []).flatMap((c) => (c.component ? [`-render_component-${c.id}`] : [])),
  );
  const extras = all.filter((e) => !stored.some((end) => e.message.id.endsWith(end)));
  const known = new Set(messages.map((m) => m.id));
  const placed = messages.flatMap((m) => [
    m,
    ...extras.filter((e) => e.after === m.id).map((e) => e.message),
  ]);
  const lost = extras.filter((e) => e.after === undefined || !known.has(e.after));
  return [...placed, ...lost.map((e) => e.message)];
}
