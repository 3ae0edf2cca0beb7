import { fromStored } from "./live";
import type { IMessage, IToolCall, MessageContent, StoredMessage } from "./types";

/**
 * A page of the history as it is shown. A message keeps its identity unless the
 * history says something else of it, so that nothing is drawn anew: also one
 * that came by a stream, under an id of the page's own (shownAs), with all its
 * steps in one.
 */
export function settle(
  page: StoredMessage[],
  known: IMessage[],
  shownAs: ReadonlyMap<string, string>,
): IMessage[] {
  const byId = new Map(known.map((m) => [m.id, m]));
  const groups: StoredMessage[][] = [];
  for (const m of page) {
    const id = shownAs.get(m.id);
    const last = groups.at(-1);
    if (id && last?.[0] && shownAs.get(last[0].id) === id) last.push(m);
    else groups.push([m]);
  }
  return groups.flatMap((steps) => {
    const shownId = steps[0] && shownAs.get(steps[0].id);
    const shown = shownId ? byId.get(shownId) : undefined;
    if (shown && tells(steps, shown)) {
      return shown.isComplete === false
        ? { ...shown, isComplete: true, isReasoning: false }
        : shown;
    }
    return steps.map((m, i) => {
      const fresh = fromStored(m, i === 0 && shownId ? shownId : m.id);
      const old = byId.get(fresh.id);
      if (old?.createdAt) fresh.createdAt = old.createdAt;
      return old && JSON.stringify(old) === JSON.stringify(fresh) ? old : fresh;
    });
  });
}

/**
 * Puts the newest page over what was known: older pages stay. It tells whether
 * the page joins what was known; if not, the older part is forgotten, because
 * nobody knows what lies between.
 */
export function merge(
  known: IMessage[],
  fresh: IMessage[],
): { messages: IMessage[]; joined: boolean } {
  const first = fresh[0];
  const at = first ? known.findIndex((m) => m.id === first.id) : -1;
  return { messages: at > 0 ? [...known.slice(0, at), ...fresh] : fresh, joined: at >= 0 };
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
  stored.forEach((m, i) => {
    if (isKnown(m.id) || ids.has(m.id)) return;
    const at = shown.findIndex(
      (s, j) => j >= from && s.type === m.type && (m.type === "ai" || s.content === m.content),
    );
    const found = shown[at];
    if (!found) return;
    from = at + 1;
    ids.set(m.id, found.id);
    // The server keeps every step of a turn as a message, a stream shows one.
    const next = stored.findIndex((s, j) => j > i && s.type === "human");
    const turn = stored.slice(i, next < 0 ? undefined : next);
    if (tells(turn, found)) turn.forEach((step) => ids.set(step.id, found.id));
  });
  return ids;
}

/** Whether stored steps say what is shown as one message. */
function tells(steps: StoredMessage[], shown: IMessage): boolean {
  const calls = (of: IToolCall[]) => JSON.stringify(of.map((c) => [c.id, c.status ?? "done"]));
  return (
    steps.every((m) => m.type === shown.type) &&
    steps.map((m) => m.content).join("") === textOf(shown.content) &&
    calls(steps.flatMap((m) => m.toolCalls ?? [])) === calls(shown.toolCalls ?? [])
  );
}

function textOf(content: MessageContent): string {
  return [content]
    .flat()
    .filter((part) => typeof part === "string")
    .join("");
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
