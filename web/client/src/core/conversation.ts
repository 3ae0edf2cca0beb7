import { dropOldest } from "./bounded";
import { adopt, componentsOf, marked, merge, place, settle, upTo, type Extra } from "./history";
import { cursorOf, type Page } from "./pages";
import { isFailure } from "./parts";
import type { IFeedback, IMessage } from "./types";

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

/** How many ids are kept of messages that are not shown any more, such as those of other versions. */
const mostIds = 1000;

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

/** The message that begins the turn of a message; of the last turn without one. */
export function questionOf(c: Conversation, id?: string): IMessage | undefined {
  const all = shownMessages(c, undefined);
  const at = id === undefined ? all.length - 1 : all.findIndex((m) => m.id === id);
  return all.slice(0, at + 1).findLast((m) => m.type === "human");
}

/** Whether the last that the server is known to keep is a question. */
export function isUnanswered(c: Conversation): boolean {
  return c.pending.length === 0 && c.stored.at(-1)?.type === "human";
}

/** A turn is asked anew: it goes with what followed it, and its new question stands in its place. */
export function branched(c: Conversation, question: string, mine: IMessage): Conversation {
  const ids = [...c.stored, ...c.pending].map((m) => m.id);
  const at = ids.indexOf(question);
  const gone = new Set(at < 0 ? [] : ids.slice(at));
  return {
    ...c,
    stored: c.stored.filter((m) => !gone.has(m.id)),
    pending: [...c.pending.filter((m) => !gone.has(m.id)), mine],
    extras: c.extras.filter((e) => !e.after.some((id) => gone.has(id))),
    unsent: undefined,
  };
}

/** Another version of a turn is shown: entries behind it that no history holds are not of this one. */
export function rebranched(c: Conversation, question: IMessage): Conversation {
  return { ...c, extras: branched(c, question.id, question).extras };
}

/** The id under which the server keeps a message; nothing when it is not known yet. */
export function storedId(c: Conversation, id: string): string | undefined {
  for (const [stored, shown] of c.shownIds) if (shown === id) return stored;
  return c.streamed.has(id) || c.pending.some((m) => m.id === id) ? undefined : id;
}

/** What a reader thinks of an answer; nothing takes it back. */
export function rated(c: Conversation, id: string, feedback: IFeedback | undefined): Conversation {
  const rate = (m: IMessage) => (m.id === id ? marked(m, m.version, feedback) : m);
  return { ...c, stored: c.stored.map(rate), pending: c.pending.map(rate) };
}

/** What was written of a turn stays to be seen until the history holds it. */
export function left(c: Conversation, reply: IMessage): Conversation {
  const whole = { ...reply, isComplete: true, isReasoning: false };
  return { ...c, pending: [...c.pending, whole] };
}

/** The stream told all that the history holds. */
export function settled(c: Conversation): Conversation {
  const streamed = new Set([...c.streamed, ...c.pending.map((m) => m.id)]);
  const stored = [...c.stored, ...c.pending];
  const shown = new Set(stored.map((m) => m.id));
  dropOldest(streamed, mostIds, (id) => shown.has(id));
  return { ...c, stored, pending: [], streamed };
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
  const failures = isWhole ? c.extras.filter((e) => isFailure(e.message)) : [];
  const known = new Set(c.stored.map((m) => m.id));
  const byStream = c.stored.filter((m) => c.streamed.has(m.id));
  const told = place([...byStream, ...shown], failures);
  const adopted = adopt(page.messages, told, (id) => known.has(c.shownIds.get(id) ?? id));
  const shownIds = new Map([...c.shownIds, ...adopted]);
  const found = new Set(adopted.values());
  const fresh = settle(page.messages, [...c.stored, ...told], shownIds);
  const { messages, joined } = merge(c.stored, fresh);
  const pending = isWhole ? [] : c.pending.filter((m) => !found.has(m.id));
  const ids = new Set([...messages, ...pending].map((m) => m.id));
  dropOldest(shownIds, mostIds, (id) => ids.has(shownIds.get(id) ?? id));
  return {
    ...c,
    stored: messages,
    pending,
    extras: c.extras.filter((e) => !found.has(e.message.id)),
    // The answer was lost, and the message was not.
    unsent: c.unsent !== undefined && found.has(c.unsent) ? undefined : c.unsent,
    streamed: new Set([...c.streamed].filter((id) => !found.has(id))),
    shownIds,
    cursor: joined ? c.cursor : cursorOf(page),
  };
}

/**
 * A page that may have been written at any time while a turn is under way, without what it could
 * tell twice: the turns that are shown as they come. They are behind all that is known; where
 * nothing of the page is known, they begin with what was sent from here, or are the last one.
 */
export function withoutNewest(c: Conversation, page: Page): Page {
  const known = new Set(c.stored.map((m) => m.id));
  const isKnown = (id: string) => known.has(c.shownIds.get(id) ?? id);
  const byStream = c.stored.filter((m) => c.streamed.has(m.id));
  const adopted = adopt(page.messages, byStream, isKnown);
  const messages = upTo(
    page.messages,
    (id) => isKnown(id) || adopted.has(id),
    c.pending.filter((m) => m.type === "human").map((m) => m.content),
  );
  return messages.length === page.messages.length ? page : { ...page, messages };
}

/** Puts an older page before what is known. */
export function withEarlier(c: Conversation, page: Page): Conversation {
  const known = new Set(c.stored.map((m) => m.id));
  const earlier = settle(page.messages, [], c.shownIds).filter((m) => !known.has(m.id));
  return { ...c, stored: [...earlier, ...c.stored], cursor: cursorOf(page) };
}

/** What was to be seen of a conversation, and where in it the reply is that was being written. */
interface Shown {
  readonly all: IMessage[];
  readonly live: IMessage;
  readonly at: number;
}

/** A conversation never changes, so where its entries stand is found once, and not with every word of a reply. */
const seen = new WeakMap<Conversation, Shown>();

/** All that is to be seen, with the reply that is being written. */
export function shownMessages(c: Conversation, live: IMessage | undefined): IMessage[] {
  const before = live && seen.get(c);
  if (before && standsWhere(before.live, live)) {
    const all = [...before.all];
    all[before.at] = live;
    return all;
  }
  const all = place([...c.stored, ...c.pending, ...(live ? [live] : [])], c.extras);
  if (live) seen.set(c, { all, live, at: all.indexOf(live) });
  return all;
}

/** Whether a reply has the same entries beside it as another: only what it shows itself moves them. */
function standsWhere(one: IMessage, other: IMessage): boolean {
  return one.id === other.id && componentsOf(one).join() === componentsOf(other).join();
}
