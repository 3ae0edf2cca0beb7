import type { Frame } from "./turn";
import type {
  IComponentMetadata,
  IMessage,
  IToolCall,
  MessageContent,
  StoredMessage,
  ToolCallStatus,
} from "./types";

/** Such as "Thinking...", said before there is anything to think about. */
const acknowledgement = /^[^.\n]{1,40}\.\.\.$/;

/** The reply that is being written. */
export class LiveTurn {
  #text = "";
  #reasoning = "";
  #thinking = false;
  #tools = new Map<string, IToolCall>();
  #actions = new Set<string>();
  #message: IMessage | undefined;
  #acknowledged = "";
  /** Whether the server said that this is the whole reply. */
  isFinished = false;

  #createdAt: string;

  /** When it began is known of a turn of this page's own; of others their first frame tells it. */
  constructor(
    readonly id: string,
    createdAt = "",
  ) {
    this.#createdAt = createdAt;
  }

  /** Takes a frame in; reports whether there is anything new to show. */
  take({ event, data }: Frame): boolean {
    this.#createdAt ||= text(data["timestamp"]);
    switch (event) {
      case "message":
        this.#text += text(data["content"]);
        break;
      case "reasoning":
        this.#thinking = data["isComplete"] !== true;
        if (this.#thinking) this.#think(text(data["reasoning"]));
        break;
      case "run":
        if (data["resumed"] !== true || typeof data["partialLength"] !== "number") return false;
        this.#text = this.#text.slice(0, data["partialLength"]);
        break;
      case "tool_call":
        this.#tool(text(data["eventId"]), data);
        break;
      case "action_call":
        this.#actions.add(text(data["toolCallId"]));
        this.#tool(text(data["toolCallId"]), data);
        break;
      case "render_component":
        return this.#show(text(data["eventId"]), data);
      case "done":
        this.#thinking = false;
        this.isFinished =
          (data["status"] ?? "finished") === "finished" &&
          !(data["failed"] || data["aborted"] || data["interrupted"]);
        if (typeof data["partialText"] === "string" && data["status"] !== "finished") {
          this.#text = data["partialText"];
        }
        break;
      default:
        return false;
    }
    this.#message = undefined;
    return true;
  }

  /** The reply so far; the same object until something changes. */
  message(): IMessage {
    const calls = [...this.#tools.values()];
    const reasoning = this.#reasoning || (this.#thinking ? this.#acknowledged : "");
    this.#message ??= {
      id: this.id,
      type: "ai",
      content: withCalls(this.#text, calls, (call) => this.#actions.has(call.id)),
      isComplete: false,
      isReasoning: this.#thinking,
      createdAt: this.#createdAt || isoNow(),
      ...(reasoning ? { reasoning } : {}),
      ...(calls.length > 0 ? { toolCalls: calls } : {}),
    };
    return this.#message;
  }

  /** Whether there is anything in it that is worth keeping. */
  get isEmpty(): boolean {
    return this.#text === "" && this.#reasoning === "" && this.#tools.size === 0;
  }

  /** Takes in a thought; servers acknowledge a turn with a phrase that is none. */
  #think(thought: string): void {
    if (!this.#acknowledged && this.isEmpty && acknowledgement.test(thought)) {
      this.#acknowledged = thought;
    } else {
      this.#reasoning += thought;
    }
  }

  /** What a call of this turn shows belongs to the call, as in the history. */
  #show(id: string, data: Record<string, unknown>): boolean {
    const call = this.#tools.get(id);
    if (!call) return false;
    const component = { name: text(data["componentName"]), args: record(data["args"]) };
    this.#tools.set(id, { ...call, component });
    this.#message = undefined;
    return true;
  }

  #tool(id: string, data: Record<string, unknown>): void {
    const args = { ...record(data["args"]) };
    delete args["toolName"]; // the server repeats it there for older pages
    this.#tools.set(id, {
      id,
      name: text(data["toolName"]),
      args,
      status: (data["status"] as ToolCallStatus | undefined) ?? "isRunning",
      ...(data["output"] === undefined ? {} : { output: text(data["output"]) }),
      ...(data["error"] === undefined ? {} : { error: text(data["error"]) }),
    });
  }
}

/** A message of the history as a page sees it: its calls are parts of its content. */
export function fromStored(stored: StoredMessage, id: string): IMessage {
  const calls = stored.toolCalls ?? [];
  return { ...stored, id, content: withCalls(stored.content, calls, () => false) };
}

/** What an error frame adds to the conversation. */
export function errorMessage(turnId: string, message: string): IMessage {
  const id = `${turnId}-error`;
  return {
    id,
    type: "ai",
    content: {
      name: "Error",
      props: { id, args: { message }, status: "error", error: message, event: "error" },
    },
    isComplete: true,
    createdAt: isoNow(),
  };
}

export function isoNow(): string {
  return new Date().toISOString();
}

function withCalls(
  said: string,
  calls: IToolCall[],
  isAction: (call: IToolCall) => boolean,
): MessageContent {
  if (calls.length === 0) return said;
  const parts = calls.flatMap((call) => [
    callPart(call, isAction(call)),
    ...(call.component ? [shownPart(call.id, call.component)] : []),
  ]);
  return said === "" ? parts : [said, ...parts];
}

/** The component of a stored call, as its render_component event showed it. */
function shownPart(
  callId: string,
  component: NonNullable<IToolCall["component"]>,
): IComponentMetadata {
  return {
    name: component.name,
    props: {
      id: `${callId}-component`,
      args: component.args ?? {},
      status: "done",
      event: "render_component",
    },
  };
}

function callPart(call: IToolCall, isAction: boolean): IComponentMetadata {
  const { id, name, args, status, output, error } = call;
  return {
    name,
    props: {
      id,
      args: record(args),
      status: status ?? "done",
      toolName: name,
      ...(output === undefined ? {} : { output }),
      ...(error === undefined ? {} : { error }),
      ...(isAction ? { isAgAction: true, actionName: name } : { isToolCall: true }),
    },
  };
}

export function text(value: unknown): string {
  return typeof value === "string"
    ? value
    : value === undefined || value === null
      ? ""
      : String(value);
}

function record(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === "object" ? (value as Record<string, unknown>) : {};
}
