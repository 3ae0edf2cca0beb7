import type { IMessage } from "@castalia/oracles-client";

/** How many messages are in the page at once, whatever the conversation has. */
export const most = 60;

/** How many of them a move of the window leaves: what is added meanwhile finds room. */
const usual = 50;

/** How many are kept ready beyond what is seen, at either side. */
const spare = 8;

/** The messages from one index to before another. */
export interface Span {
  from: number;
  to: number;
}

/** What is remembered of a window: the message it begins with, for indices move. */
export interface Place {
  firstId: string;
  count: number;
  /** It ends with the newest message, also with the next one. */
  isEnd: boolean;
}

/**
 * Heights of messages, as they were drawn, or guessed from what they say, and where messages stand by them. What was
 * summed up is kept: with each word of an answer only its own message is looked at, however many there are.
 */
export class Heights {
  readonly #drawn = new Map<string, number>();
  readonly #guessed = new Map<string, number>();
  /** Where messages are in the list that was looked at last, as far as it is known. */
  readonly #places = new Map<string, number>();
  #messages: IMessage[] = [];
  /** How high everything before a message is; of those behind #known it is not known. */
  readonly #tops = [0];
  #known = 0;

  of(message: IMessage): number {
    return this.#drawn.get(message.id) ?? this.#guess(message);
  }

  set(id: string, height: number): void {
    if (this.#drawn.get(id) === height) return;
    this.#drawn.set(id, height);
    this.#known = Math.min(this.#known, this.#places.get(id) ?? this.#known);
  }

  /** How high the messages of a span are together. */
  sum(messages: IMessage[], { from, to }: Span): number {
    return this.#top(messages, to) - this.#top(messages, from);
  }

  /** The index of a message by its id; -1 when it is not there. */
  indexOf(messages: IMessage[], id: string): number {
    const known = this.#places.get(id) ?? -1;
    if (messages[known]?.id === id) return known;
    const found = messages.findIndex((m) => m.id === id);
    if (found >= 0) this.#places.set(id, found);
    return found;
  }

  /** The first message whose end is below a height, or also at it; the last one when none is. */
  at(messages: IMessage[], height: number, isOrAt: boolean): number {
    this.#top(messages, messages.length);
    let from = 0;
    let to = messages.length - 1;
    while (from < to) {
      const middle = (from + to) >> 1;
      const end = this.#tops[middle + 1] ?? 0;
      if (end > height || (isOrAt && end === height)) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  #top(messages: IMessage[], index: number): number {
    if (messages !== this.#messages) {
      this.#known = Math.min(this.#known, inCommon(messages, this.#messages));
      this.#messages = messages;
    }
    for (; this.#known < index; this.#known++) {
      const message = messages[this.#known] as IMessage;
      this.#places.set(message.id, this.#known);
      this.#tops[this.#known + 1] = (this.#tops[this.#known] ?? 0) + this.of(message);
    }
    return this.#tops[index] ?? 0;
  }

  /** A guess stays as it is: what is above the reader must not move by itself. */
  #guess(message: IMessage): number {
    const known = this.#guessed.get(message.id);
    if (known !== undefined) return known;
    const parts = Array.isArray(message.content) ? message.content : [message.content];
    let height = 60;
    for (const part of parts) {
      height += typeof part === "string" ? Math.ceil(part.length / 80) * 25 : 60;
    }
    this.#guessed.set(message.id, height);
    return height;
  }
}

/**
 * With how many messages two lists begin that are the same. Lists that differ in their last message, as with each word of
 * an answer, are known by the one before it: what is changed in between keeps its place, and its height when it is drawn.
 */
function inCommon(some: IMessage[], others: IMessage[]): number {
  const last = Math.min(some.length, others.length) - 1;
  if (last > 0 && some[0] === others[0] && some[last - 1] === others[last - 1]) return last;
  let count = 0;
  while (count <= last && some[count] === others[count]) count++;
  return count;
}

/** Which messages a remembered window has now. */
export function spanOf(
  messages: IMessage[],
  heights: Heights,
  place: Place | undefined,
  isAway: boolean,
): Span {
  const count = messages.length;
  if (count < most) return { from: 0, to: count };
  const found = place ? heights.indexOf(messages, place.firstId) : -1;
  if (!place || found < 0) return { from: count - usual, to: count };
  const to = place.isEnd ? count : Math.min(count, found + place.count);
  if (to - found < most) return { from: found, to };
  // Who reads above keeps what they read; who follows the end keeps the end.
  return isAway ? { from: found, to: found + most - 1 } : { from: to - usual, to };
}

/** The window for what is seen between two heights, if the present one is too narrow for it. */
export function moved(
  messages: IMessage[],
  heights: Heights,
  now: Span,
  seen: { top: number; bottom: number },
): Place | undefined {
  const count = messages.length;
  if (count < most) return undefined;
  const first = heights.at(messages, seen.top, false);
  const last = heights.at(messages, seen.bottom, true);
  const isEnough =
    (now.from === 0 || first - now.from >= spare) &&
    (now.to === count || now.to - 1 - last >= spare);
  if (isEnough) return undefined;
  const around = Math.max(0, Math.floor((usual - (last - first + 1)) / 2));
  const from = Math.max(0, Math.min(first - around, count - usual));
  const to = Math.min(count, from + usual);
  return { firstId: messages[from]?.id ?? "", count: to - from, isEnd: to === count };
}

/** What is drawn, in order: messages by their index, and the room of those between. */
export type Row = { index: number } | { room: number; key: string };

/** The rows of a window, with one message that stays wherever it is. */
export function rowsOf(
  messages: IMessage[],
  heights: Heights,
  { from, to }: Span,
  keptId: string | undefined,
): Row[] {
  const shown = Array.from({ length: to - from }, (_, i) => from + i);
  const kept = keptId === undefined ? -1 : heights.indexOf(messages, keptId);
  if (kept >= to) shown.push(kept);
  else if (kept >= 0 && kept < from) shown.unshift(kept);
  const rows: Row[] = [];
  let next = 0;
  const leave = (until: number) => {
    if (until > next)
      rows.push({
        room: heights.sum(messages, { from: next, to: until }),
        key: `room ${rows.length}`,
      });
  };
  for (const index of shown) {
    leave(index);
    rows.push({ index });
    next = index + 1;
  }
  leave(messages.length);
  return rows;
}
