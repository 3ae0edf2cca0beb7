import { fromStored, isFailure } from "./parts";
import type {
  IFeedback,
  IMessage,
  IMessageVersion,
  MessageContent,
  MessagePart,
  StoredMessage,
} from "./types";

/**
 * A page of the history as it is shown: the steps of a turn are one message. A
 * message keeps its identity unless the history says something else of it, so
 * that nothing is drawn anew: also one that came by a stream, under an id of the
 * page's own (shownAs).
 * Decision: ADR 0050.
 */
export function settle(
  page: StoredMessage[],
  known: IMessage[],
  shownAs: ReadonlyMap<string, string>,
): IMessage[] {
  const byId = new Map(known.map((m) => [m.id, m]));
  return turns(page).map((steps) => {
    const [{ id }] = steps;
    const fresh = fromStored(steps, shownAs.get(id) ?? id);
    const old = byId.get(fresh.id);
    if (!old) return fresh;
    if (shownAs.has(id) && tells(fresh, old)) {
      const { version, feedback } = fresh;
      const told = JSON.stringify([version, feedback]);
      const isSame = told === JSON.stringify([old.version, old.feedback]);
      if (isSame && old.isComplete !== false) return old;
      const whole = old.isComplete === false ? { isComplete: true, isReasoning: false } : {};
      return marked({ ...old, ...whole }, version, feedback);
    }
    if (old.createdAt) fresh.createdAt = old.createdAt;
    return JSON.stringify(old) === JSON.stringify(fresh) ? old : fresh;
  });
}

/** A message with what is known of its versions and of what its reader thinks of it. */
export function marked(
  message: IMessage,
  version: IMessageVersion | undefined,
  feedback: IFeedback | undefined,
): IMessage {
  const made = { ...message };
  delete made.version;
  delete made.feedback;
  return Object.assign(made, version && { version }, feedback && { feedback });
}

/**
 * The stored messages by what is shown of them: each of the user's own, and the
 * steps of each reply. Every step but the last called something. Why a turn failed
 * is an entry of its own.
 */
function turns(page: StoredMessage[]): [StoredMessage, ...StoredMessage[]][] {
  const all: [StoredMessage, ...StoredMessage[]][] = [];
  for (const m of page) {
    const last = all.at(-1);
    if (m.type === "ai" && !m.error && last?.at(-1)?.toolCalls?.length) last.push(m);
    else all.push([m]);
  }
  return all;
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
  for (const steps of turns(stored)) {
    const [m] = steps;
    if (isKnown(m.id)) continue;
    const at = shown.findIndex(
      (s, j) =>
        j >= from &&
        s.type === m.type &&
        (m.type === "ai" ? isFailure(s) === Boolean(m.error) : s.content === m.content),
    );
    const found = shown[at];
    if (!found) continue;
    from = at + 1;
    ids.set(m.id, found.id);
  }
  return ids;
}

/**
 * The part of a page up to the last turn that is known. Of a page of which nothing is known: up
 * to the first message that was sent from here, or up to what answers its last one.
 */
export function upTo(
  stored: StoredMessage[],
  isKnown: (id: string) => boolean,
  sent: MessageContent[],
): StoredMessage[] {
  const all = turns(stored);
  const known = all.findLastIndex(([m]) => isKnown(m.id));
  if (known >= 0) return all.slice(0, known + 1).flat();
  const at =
    sent.length > 0
      ? all.findIndex(([m]) => m.type === "human" && sent.includes(m.content))
      : all.findLastIndex(([m]) => m.type === "human") + 1;
  return at < 0 ? stored : all.slice(0, at).flat();
}

/** Whether the history says what is shown. Of thoughts it may keep less. */
function tells(fresh: IMessage, shown: IMessage): boolean {
  const gist = ({ content, parts = [] }: IMessage) =>
    JSON.stringify([
      typeof content === "string" && content,
      parts.flatMap((part: MessagePart): unknown[] =>
        part.type === "tool"
          ? [[part.call.id, part.call.status ?? "done"]]
          : part.type === "text" || part.type === "error"
            ? [part.text]
            : part.type === "citation"
              ? [part.citation.number]
              : [],
      ),
    ]);
  return fresh.type === shown.type && gist(fresh) === gist(shown);
}

/** An entry that no history holds, and those that it follows: the nearest that is there. */
export interface Extra {
  message: IMessage;
  after: string[];
}

/**
 * Puts the extras where they came up; those whose place is gone come last, and
 * components that the history shows by now are left out.
 */
export function place(messages: IMessage[], all: Extra[]): IMessage[] {
  if (all.length === 0) return messages;
  const stored = messages.flatMap(componentsOf).map((id) => `-render_component-${id}`);
  const extras = all.filter((e) => !stored.some((end) => e.message.id.endsWith(end)));
  const known = new Set(messages.map((m) => m.id));
  const place = (e: Extra) => e.after.find((id) => known.has(id));
  const placed = messages.flatMap((m) => [
    m,
    ...extras.filter((e) => place(e) === m.id).map((e) => e.message),
  ]);
  const lost = extras.filter((e) => !place(e));
  return [...placed, ...lost.map((e) => e.message)];
}

/** The calls of a message that show a component. */
export function componentsOf({ toolCalls = [] }: IMessage): string[] {
  return toolCalls.flatMap((call) => (call.component ? [call.id] : []));
}
