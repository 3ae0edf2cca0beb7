import { adopt, merge, place, settle, type Extra } from "./history";
import { cursorOf, type Page } from "./pages";
import type { IMessage } from "./types";

/**
 * What a page knows of a conversation but for the turn under way. It is never
 * changed: every function here makes the next one of it.
 */
export interface Conversation {
  /** What the server keeps, as far as it was read. */
  readonly stored: IMessage[];
  /** What is shown already, and not yet known to be kept. */
  readonly pending: IMessage[];
  /** What no history holds. */
  readonly extras: Extra[];
  /** The message that the oracle did not take. */
  readonly unsent: string | undefined;
  /** Stored messages that came by a stream: the server's ids of them are not known yet. */
  readonly streamed: ReadonlySet<string>;
  /** Ids under which the page shows messages that the server keeps under others. */
  readonly shownIds: ReadonlyMap<string, string>;
  /** Where older messages begin; null when all are here. */
  readonly cursor: string | null;
}

export const empty: Conversation = {
  stored: [],
  pending: [],
  extras: [],
  unsent: undefined,
  streamed: new Set(),
  shownIds: new Map(),
  cursor: null,
};

/** How many entries are kept that no history holds. */
const mostExtras = 100;

/** A message goes out. What was refused before is not in the conversation; this may be the same again. */
export function sent(c: Conversation, mine: IMessage): Conversation {
  return {
    ...c,
    pending: [...c.pending.filter((m) => m.id !== c.unsent), mine],
    unsent: undefined,
  };
}

/** A message was refused while the next was under way, which would take it along into the history. */
export function withdrawn(c: Conversation, mine: IMessage): Conversation {
  return { ...c, pending: c.pending.filter((m) => m !== mine) };
}

/** The newest message was refused. It stays to be seen. */
export function refused(c: Conversation, mine: IMessage): Conversation {
  return { ...c, unsent: mine.id };
}

/** What was written of a turn stays to be seen until the history holds it. */
export function left(c: Conversation, reply: IMessage): Conversation {
  const whole = { ...reply, isComplete: true, isReasoning: false };
  return { ...c, pending: [...c.pending, whole] };
}

/** The stream told all that the history holds. */
export function settled(c: Conversation): Conversation {
  return {
    ...c,
    stored: [...c.stored, ...c.pending],
    pending: [],
    streamed: new Set([...c.streamed, ...c.pending.map((m) => m.id)]),
  };
}

/** Adds an entry that no history holds, or says what has become of it. */
export function withExtra(
  c: Conversation,
  message: IMessage,
  live: string | undefined,
): Conversation {
  const before = c.extras.find((e) => e.message.id === message.id);
  // A reply that fails before its first word leaves no message.
  const last = (c.pending.at(-1) ?? c.stored.at(-1))?.id;
  const after = before?.after ?? [live, last].filter((id) => id !== undefined);
  const extras = [...c.extras.filter((e) => e !== before), { message, after }];
  return { ...c, extras: extras.slice(-mostExtras) };
}

/**
 * Takes in the newest page. When it was asked for while no turn ran it holds
 * all that is shown (isWhole), the reply of the last turn too.
 */
export function loaded(
  c: Conversation,
  page: Page,
  live: IMessage | undefined,
  isWhole: boolean,
): Conversation {
  const mine = isWhole ? c.pending : c.pending.filter((m) => m.type === "human");
  const shown = [...mine, ...(isWhole && live ? [live] : [])];
  const known = new Set(c.stored.map((m) => m.id));
  const byStream = c.stored.filter((m) => c.streamed.has(m.id));
  const adopted = adopt(page.messages, [...byStream, ...shown], (id) =>
    known.has(c.shownIds.get(id) ?? id),
  );
  const shownIds = new Map([...c.shownIds, ...adopted]);
  const found = new Set(adopted.values());
  const fresh = settle(page.messages, [...c.stored, ...shown], shownIds);
  const { messages, joined } = merge(c.stored, fresh);
  return {
    ...c,
    stored: messages,
    pending: isWhole ? [] : c.pending.filter((m) => !found.has(m.id)),
    // The answer was lost, and the message was not.
    unsent: c.unsent !== undefined && found.has(c.unsent) ? undefined : c.unsent,
    streamed: new Set([...c.streamed].filter((id) => !found.has(id))),
    shownIds,
    cursor: joined ? c.cursor : cursorOf(page),
  };
}

/** Puts an older page before what is known. */
export function withEarlier(c: Conversation, page: Page): Conversation {
  const known = new Set(c.stored.map((m) => m.id));
  const earlier = settle(page.messages, [], c.shownIds).filter((m) => !known.has(m.id));
  return { ...c, stored: [...earlier, ...c.stored], cursor: cursorOf(page) };
}

/** All that is to be seen, with the reply that is being written. */
export function shownMessages(c: Conversation, live: IMessage | undefined): IMessage[] {
  return place([...c.stored, ...c.pending, ...(live ? [live] : [])], c.extras);
}
