import {
  callsOf,
  cite,
  contentOf,
  record,
  retell,
  told,
  withCall,
  withComponents,
  write,
} from "./parts";
import { text } from "./text";
import type { Frame } from "./turn";
import type { ICitation, IMessage, MessagePart, ToolCallStatus } from "./types";

/**
 * The reply that is being written. It is never changed: `withFrame` makes the
 * next one of it.
 */
export interface Reply {
  readonly id: string;
  /** When it began: known of a turn of this page's own; of others their first frame tells it. */
  readonly createdAt: string;
  /** When this page saw it first, which is shown until more is known. */
  readonly seenAt: string;
  readonly parts: MessagePart[];
  readonly isThinking: boolean;
  /** What the server said before there was anything to think about. */
  readonly acknowledged: string;
  /** The calls that are actions of the page. */
  readonly actions: ReadonlySet<string>;
  /** Whether the server said that this is the whole reply. */
  readonly isFinished: boolean;
}

/** Such as "Thinking...", said before there is anything to think about. */
const acknowledgement = /^[^.\n]{1,40}\.\.\.$/;

export function emptyReply(id: string, seenAt: string, createdAt = ""): Reply {
  return {
    id,
    createdAt,
    seenAt,
    parts: [],
    isThinking: false,
    acknowledged: "",
    actions: new Set(),
    isFinished: false,
  };
}

/** Whether there is nothing in it that is worth keeping. */
export function isEmptyReply(reply: Reply): boolean {
  return reply.parts.length === 0;
}

/** Takes a frame in. Without anything new to show it is the same reply. */
export function withFrame(before: Reply, { event, data }: Frame): Reply {
  const createdAt = before.createdAt || text(data["timestamp"]);
  const reply = createdAt === before.createdAt ? before : { ...before, createdAt };
  const { parts } = reply;
  switch (event) {
    case "message":
      return { ...reply, parts: write(parts, "text", text(data["content"])) };
    case "reasoning":
      return data["isComplete"] === true
        ? { ...reply, isThinking: false }
        : thought({ ...reply, isThinking: true }, text(data["reasoning"]));
    case "run": {
      const length = data["partialLength"];
      if (data["resumed"] !== true || typeof length !== "number") return reply;
      return { ...reply, parts: retell(parts, told(parts, "text").slice(0, length)) };
    }
    case "tool_call":
      return called(reply, text(data["eventId"]), data);
    case "action_call": {
      const id = text(data["toolCallId"]);
      return called({ ...reply, actions: new Set([...reply.actions, id]) }, id, data);
    }
    case "render_component":
      return withComponent(before, text(data["eventId"]), data);
    case "citations":
      return { ...reply, parts: cite(parts, (data["citations"] ?? []) as ICitation[]) };
    case "done":
      return done(reply, data);
  }
  return reply;
}

function done(reply: Reply, data: Frame["data"]): Reply {
  const { status, partialText } = data;
  const isCut = typeof partialText === "string" && status !== "finished";
  return {
    ...reply,
    isThinking: false,
    isFinished:
      (status ?? "finished") === "finished" &&
      !(data["failed"] || data["aborted"] || data["interrupted"]),
    parts: isCut ? retell(reply.parts, partialText) : reply.parts,
  };
}

/** Takes in a thought; servers acknowledge a turn with a phrase that is none. */
function thought(reply: Reply, said: string): Reply {
  return !reply.acknowledged && isEmptyReply(reply) && acknowledgement.test(said)
    ? { ...reply, acknowledged: said }
    : { ...reply, parts: write(reply.parts, "reasoning", said) };
}

/** What a call of this turn shows belongs to the call, as in the history. */
function withComponent(reply: Reply, id: string, data: Frame["data"]): Reply {
  const call = callsOf(reply.parts).find((call) => call.id === id);
  if (!call) return reply;
  const component = { name: text(data["componentName"]), args: record(data["args"]) };
  return { ...reply, parts: withCall(reply.parts, { ...call, component }) };
}

function called(reply: Reply, id: string, data: Frame["data"]): Reply {
  const args = { ...record(data["args"]) };
  delete args["toolName"]; // the server repeats it there for older pages
  const parts = withCall(reply.parts, {
    id,
    name: text(data["toolName"]),
    args,
    status: (data["status"] as ToolCallStatus | undefined) ?? "isRunning",
    ...(data["output"] === undefined ? {} : { output: text(data["output"]) }),
    ...(data["error"] === undefined ? {} : { error: text(data["error"]) }),
  });
  return { ...reply, parts };
}

/** A reply never changes, so its message is made once, and keeps its identity. */
const made = new WeakMap<Reply, IMessage>();

/** The reply so far, as the page shows it. */
export function messageOf(reply: Reply): IMessage {
  const known = made.get(reply);
  if (known) return known;
  const { id, isThinking, acknowledged } = reply;
  const parts = withComponents(reply.parts);
  const calls = callsOf(parts);
  const reasoning = told(parts, "reasoning") || (isThinking ? acknowledged : "");
  const message: IMessage = {
    id,
    type: "ai",
    content: contentOf(parts, (call) => reply.actions.has(call.id)),
    parts,
    isComplete: false,
    isReasoning: isThinking,
    createdAt: reply.createdAt || reply.seenAt,
    ...(reasoning ? { reasoning } : {}),
    ...(calls.length > 0 ? { toolCalls: calls } : {}),
  };
  made.set(reply, message);
  return message;
}
