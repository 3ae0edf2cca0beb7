import { empty, left, shownMessages, type Conversation } from "./conversation";
import { isEmptyReply, messageOf, type Reply } from "./reply";
import type { ChatStatus, IMessage, IRun } from "./types";

/** What a page sees of a conversation. A new object only when something changed. */
export interface ChatState {
  messages: IMessage[];
  status: ChatStatus;
  isLoading: boolean;
  /** What could not be read is asked for again by itself; `refetchMessages` does it at once. */
  isRetrying: boolean;
  error: Error | undefined;
  sendMessageError: Error | undefined;
  run: IRun | undefined;
  hasEarlier: boolean;
  isLoadingEarlier: boolean;
}

/** What is told beside the messages. */
export type ChatView = Readonly<Omit<ChatState, "messages" | "hasEarlier">>;

/** A turn that this page follows, from the moment it is sent or found under way. */
export interface ChatTurn {
  readonly id: number;
  /** What is written of it; there is nothing before it was accepted. */
  readonly reply: Reply | undefined;
  readonly isRunning: boolean;
  /** What the oracle said went wrong. */
  readonly failure: Error | undefined;
  /** Whether the history changed meanwhile, by something else than this turn. */
  readonly isStale: boolean;
  /** Whether more may be said in the turn before it than was shown here. */
  readonly isBehind: boolean;
  /** Whether another page sent its message. */
  readonly isForeign: boolean;
  /** What was shown before a turn was asked anew, until the oracle has taken that. */
  readonly before: Conversation | undefined;
}

/** All that a page knows of a chat. It is never changed: the reducer makes the next one of it. */
export interface ChatModel {
  readonly conversation: Conversation;
  /** The newest turn, which may be over. */
  readonly turn: ChatTurn | undefined;
  /** Counts the beginnings and ends of turns. */
  readonly epoch: number;
  /** The requests whose streams were followed, the newest last. */
  readonly followed: readonly string[];
  /** Why the history could not be read. */
  readonly unread: Error | undefined;
  readonly view: ChatView;
}

export const unopened: ChatModel = {
  conversation: empty,
  turn: undefined,
  epoch: 0,
  followed: [],
  unread: undefined,
  view: {
    status: "ready",
    isLoading: true,
    isRetrying: false,
    error: undefined,
    sendMessageError: undefined,
    run: undefined,
    isLoadingEarlier: false,
  },
};

/** How many requests are remembered whose streams were followed. */
const mostFollowed = 100;

/** The turn under way, if there is one. */
export function runningTurn({ turn }: ChatModel): ChatTurn | undefined {
  return turn?.isRunning ? turn : undefined;
}

/** How the turn will be called that begins next. */
export function nextTurn({ epoch }: ChatModel): number {
  return epoch + 1;
}

/** Begins a turn: the one before it is over for this page. */
export function begun(
  model: ChatModel,
  turn: Partial<Pick<ChatTurn, "isBehind" | "isForeign" | "before">>,
): ChatModel {
  const id = nextTurn(model);
  return {
    ...keptReply(model),
    epoch: id,
    turn: {
      id,
      reply: undefined,
      isRunning: true,
      failure: undefined,
      isStale: false,
      isBehind: false,
      isForeign: false,
      before: undefined,
      ...turn,
    },
  };
}

/** Ends the newest turn. What was written of it is still its own. */
export function ended(model: ChatModel): ChatModel {
  const { turn } = model;
  // After some errors a turn goes on.
  const failure = turn?.reply?.isFinished ? undefined : turn?.failure;
  return { ...withTurn(model, { isRunning: false, failure }), epoch: model.epoch + 1 };
}

/** What was written of a turn stays to be seen when the turn is over. */
export function keptReply(model: ChatModel): ChatModel {
  const reply = model.turn?.reply;
  if (!reply) return model;
  const { conversation } = model;
  return {
    ...withTurn(model, { reply: undefined }),
    conversation: isEmptyReply(reply) ? conversation : left(conversation, messageOf(reply)),
  };
}

export function withTurn(model: ChatModel, change: Partial<ChatTurn>): ChatModel {
  return model.turn ? { ...model, turn: { ...model.turn, ...change } } : model;
}

export function withView(model: ChatModel, change: Partial<ChatView>): ChatModel {
  return { ...model, view: { ...model.view, ...change } };
}

/** Remembers that the stream of a request was followed here. */
export function withFollowed(model: ChatModel, requestId: string): ChatModel {
  const others = model.followed.filter((id) => id !== requestId);
  return { ...model, followed: [...others, requestId].slice(-mostFollowed) };
}

/** What a page sees of the model. It is the state before when nothing of that changed. */
export function stateOf(model: ChatModel, before?: ChatState): ChatState {
  const { conversation, turn, view } = model;
  const all = shownMessages(conversation, turn?.reply && messageOf(turn.reply));
  const known = before?.messages;
  const next: ChatState = {
    ...view,
    messages: known && areSame(known, all) ? known : all,
    hasEarlier: conversation.cursor !== null,
  };
  const keys = Object.keys(next) as (keyof ChatState)[];
  return before && keys.every((key) => next[key] === before[key]) ? before : next;
}

/** Whether the messages are the same; what is new is mostly at the end, so that is looked at first. */
function areSame(some: IMessage[], others: IMessage[]): boolean {
  if (some.length !== others.length) return false;
  for (let i = some.length - 1; i >= 0; i--) if (some[i] !== others[i]) return false;
  return true;
}

/** What a page sees of a chat that is not open yet. */
export const closedState: ChatState = /* @__PURE__ */ stateOf(unopened);
