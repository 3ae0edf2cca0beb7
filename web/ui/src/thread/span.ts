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

/** Heights of messages: as they were drawn, or guessed from what they say. */
export class Heights {
  readonly #drawn = new Map<string, number>();
  readonly #guessed = new Map<string, number>();

  of(message: IMessage): number {
    return this.#drawn.get(message.id) ?? this.#guess(message);
  }

  set(id: string, height: number): void {
    this.#drawn.set(id, height);
  }

  /** How high the messages of a span are together. */
  sum(messages: IMessage[], { from, to }: Span): number {
    let sum = 0;
    for (let i = from; i < to; i++) sum += this.of(messages[i] as IMessage);
    return sum;
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

/** Which messages a remembered window has now. */
export function spanOf(messages: IMessage[], place: Place | undefined, isAway: boolean): Span {
  const count = messages.length;
  if (count < most) return { from: 0, to: count };
  const found = place ? messages.findIndex((m) => m.id === place.firstId) : -1;
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
  let first = -1;
  let last = count - 1;
  let at = 0;
  for (let i = 0; i < count; i++) {
    at += heights.of(messages[i] as IMessage);
    if (first < 0 && at > seen.top) first = i;
    if (at < seen.bottom) continue;
    last = i;
    break;
  }
  if (first < 0) first = count - 1;
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
  const kept = keptId === undefined ? -1 : messages.findIndex((m) => m.id === keptId);
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
