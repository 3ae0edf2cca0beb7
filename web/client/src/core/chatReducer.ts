import { mayPass } from "./again";
import {
  begun,
  ended,
  keptReply,
  runningTurn,
  withFollowed,
  withTurn,
  withView,
  type ChatModel,
} from "./chatModel";
import {
  branched,
  empty,
  loaded,
  rated,
  rebranched,
  refused,
  sent,
  settled,
  withdrawn,
  withEarlier,
  withExtra,
  withoutNewest,
} from "./conversation";
import { componentMessage, errorMessage } from "./entries";
import { asError, PaymentRequiredError, TurnError } from "./errors";
import { readOracleEvent, type OracleEventPayloads } from "./events";
import type { Page } from "./pages";
import { emptyReply, messageOf, withFrame } from "./reply";
import { text } from "./text";
import type { Frame } from "./turn";
import type { IFeedback, IMessage, IRun } from "./types";

/** Everything that can happen to a chat. Times are told, so that the same actions make the same chat. */
export type ChatAction =
  /** A message goes out, or a question is asked anew in the place of an old one. */
  | { type: "asked"; mine: IMessage; question?: string; isBehind: boolean }
  /** A turn is under way that this page did not send, or not as it is now. */
  | { type: "joined"; run: IRun; isForeign: boolean }
  | {
      type: "accepted";
      turn: number;
      requestId: string;
      runId: string | undefined;
      replyId: string;
      createdAt: string | undefined;
      now: string;
    }
  | { type: "framed"; turn: number; frame: Frame; now: string }
  | { type: "shown"; component: OracleEventPayloads["render_component"]; now: string }
  | { type: "refused"; turn: number; mine: IMessage; cause: unknown }
  /** The stream of a turn is at its end. */
  | { type: "ended"; turn: number }
  /** Nothing more comes of the newest turn; what it told is all that the history holds, or not. */
  | { type: "settled"; isWhole: boolean }
  /** The history changed while a turn is under way. */
  | { type: "outdated" }
  /** The newest page, asked for in an epoch without a turn, or while one was under way. */
  | { type: "loaded"; page: Page; epoch: number | undefined }
  | { type: "unread"; cause: unknown }
  | { type: "loadingEarlier" }
  /** The page before a cursor. */
  | { type: "earlier"; page: Page; cursor: string }
  | { type: "unreadEarlier"; cause: unknown }
  | { type: "rated"; id: string; feedback: IFeedback | undefined }
  /** Another version of the turn of a question is shown. */
  | { type: "chosen"; question: IMessage }
  | { type: "replaced"; messages: IMessage[] }
  | { type: "failed"; cause: unknown }
  | { type: "cleared" };

type Of<Type extends ChatAction["type"]> = Extract<ChatAction, { type: Type }>;

/** The chat after something happened: pure, and the same object when nothing of it changed. ADR 0241. */
export function reduce(model: ChatModel, action: ChatAction): ChatModel {
  const { conversation } = model;
  switch (action.type) {
    case "asked":
      return asked(model, action);
    case "joined":
      return withView(begun(model, { isForeign: action.isForeign }), {
        run: action.run,
        error: model.unread, // what was wrong with the turn before is over
      });
    case "accepted":
      return isRunning(model, action.turn) ? accepted(model, action) : model;
    case "framed":
      return isRunning(model, action.turn) ? framed(model, action) : model;
    case "shown":
      return shown(model, action);
    case "refused":
      return isRunning(model, action.turn)
        ? newestRefused(model, action)
        : { ...model, conversation: withdrawn(conversation, action.mine) };
    case "ended":
      return isRunning(model, action.turn) ? ended(model) : model;
    case "settled":
      return turnSettled(model, action);
    case "outdated":
      return runningTurn(model) ? withTurn(model, { isStale: true }) : model;
    case "loaded":
      return pageLoaded(model, action);
    case "unread": {
      const unread = asError(action.cause);
      const isRetrying = mayPass(unread);
      return { ...withView(model, { isLoading: false, isRetrying, error: unread }), unread };
    }
    case "loadingEarlier":
      return withView(model, { isLoadingEarlier: true });
    case "earlier":
      return {
        ...withView(model, { isLoadingEarlier: false }),
        // A reading of the newest may have begun the history anew; then this page joins nothing.
        ...(conversation.cursor === action.cursor
          ? { conversation: withEarlier(conversation, action.page) }
          : {}),
      };
    case "rated":
      return { ...model, conversation: rated(conversation, action.id, action.feedback) };
    case "chosen":
      return { ...model, conversation: rebranched(conversation, action.question) };
    case "replaced": {
      const { cursor } = conversation;
      // The reply that is being written is shown as it comes, and not once more.
      const stored = action.messages.filter((m) => m.id !== model.turn?.reply?.id);
      return { ...model, conversation: { ...empty, stored, cursor } };
    }
    case "unreadEarlier":
      return withView(model, { isLoadingEarlier: false, error: asError(action.cause) });
    case "failed":
      return withView(model, { error: asError(action.cause) });
    case "cleared": {
      const { status } = model.view;
      return withView(model, {
        error: undefined,
        sendMessageError: undefined,
        status: status === "error" ? "ready" : status,
      });
    }
  }
}

function isRunning(model: ChatModel, turn: number): boolean {
  return runningTurn(model)?.id === turn;
}

function asked(before: ChatModel, { mine, question, isBehind }: Of<"asked">): ChatModel {
  const kept = keptReply(before);
  const { conversation, unread } = kept;
  const isAnew = question !== undefined;
  const model = begun(kept, { isBehind, ...(isAnew ? { before: conversation } : {}) });
  return {
    ...withView(model, { status: "submitted", sendMessageError: undefined, error: unread }),
    conversation: isAnew ? branched(conversation, question, mine) : sent(conversation, mine),
  };
}

function accepted(before: ChatModel, action: Of<"accepted">): ChatModel {
  const { requestId, runId, replyId, createdAt, now } = action;
  const model = withTurn(withFollowed(before, requestId), {
    isStale: before.turn?.isBehind ?? false,
    reply: emptyReply(replyId, now, createdAt),
    before: undefined,
  });
  return withView(model, {
    status: "streaming",
    ...(runId ? { run: { runId, status: "running" } } : {}),
  });
}

function framed(model: ChatModel, { frame, now }: Of<"framed">): ChatModel {
  const reply = model.turn?.reply;
  if (!reply) return model;
  if (frame.event === "render_component") {
    const event = readOracleEvent(frame.event, frame.data);
    if (event?.eventName !== "render_component") return model;
    return shown(model, { type: "shown", component: event.payload, now });
  }
  if (frame.event === "error") {
    const failure = new TurnError(frame.data);
    return extended(withTurn(model, { failure }), errorMessage(reply.id, failure, now));
  }
  const next = withFrame(reply, frame);
  const told = next === reply ? model : withTurn(model, { reply: next });
  return frame.event === "run" ? withFollowed(told, text(frame.data["requestId"])) : told;
}

/** What a call of the reply shows belongs to the call; everything else is an entry of its own. */
function shown(model: ChatModel, { component, now }: Of<"shown">): ChatModel {
  const reply = model.turn?.reply;
  const next = reply && withFrame(reply, { event: "render_component", data: { ...component } });
  return next === reply
    ? extended(model, componentMessage(component, now))
    : withTurn(model, { reply: next });
}

/** Adds an entry that no history holds. */
function extended(model: ChatModel, message: IMessage): ChatModel {
  const { conversation, turn } = model;
  return { ...model, conversation: withExtra(conversation, message, turn?.reply?.id) };
}

function newestRefused(model: ChatModel, { mine, cause }: Of<"refused">): ChatModel {
  const { turn, conversation } = model;
  const over = ended(model);
  const told = turn?.reply
    ? keptReply(over)
    : { ...over, conversation: turn?.before ?? refused(conversation, mine) };
  return withView(
    told,
    cause instanceof PaymentRequiredError
      ? { status: "ready" }
      : { status: "error", sendMessageError: asError(cause) },
  );
}

function turnSettled(before: ChatModel, { isWhole }: Of<"settled">): ChatModel {
  const { conversation, ...model } = keptReply(before);
  const failure = model.turn?.failure;
  return withView(
    { ...model, conversation: isWhole ? settled(conversation) : conversation },
    {
      run: undefined,
      status: failure ? "error" : "ready",
      ...(failure ? { error: failure } : {}),
    },
  );
}

function pageLoaded(before: ChatModel, { page: told, epoch }: Of<"loaded">): ChatModel {
  // Only what was asked for while no turn ran holds all that is shown.
  const isWhole = epoch === before.epoch;
  const isUnderWay = before.turn?.isRunning === true || before.turn?.reply !== undefined;
  // An answer that took long may hold the reply that is being written: it would be shown twice.
  const page = !isWhole && isUnderWay ? withoutNewest(before.conversation, told) : told;
  const model = page === told ? before : withTurn(before, { isStale: true, isBehind: true });
  const { turn, unread, view } = model;
  const live = turn?.reply && messageOf(turn.reply);
  const conversation = loaded(model.conversation, page, live, isWhole);
  const isThere = model.conversation.unsent !== conversation.unsent;
  // A page that is opened finds what the last turn failed of as the one before it left it.
  const failure = view.isLoading && isWhole && !turn ? page.messages.at(-1)?.error : undefined;
  const next = withView(isWhole ? withTurn(model, { reply: undefined }) : model, {
    isLoading: false,
    isRetrying: false,
    // What is wrong with a turn stays to be seen.
    error: view.error === unread ? undefined : view.error,
    ...(isThere ? { status: "ready", sendMessageError: undefined } : {}),
    ...(failure
      ? { status: "error", error: new TurnError({ ...failure, error: failure.message }) }
      : {}),
  });
  return { ...next, conversation, unread: undefined };
}
