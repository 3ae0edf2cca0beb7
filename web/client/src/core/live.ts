import type { Frame } from "./turn";
import { callsOf, contentOf, record, retell, told, withCall, write } from "./parts";
import type { IMessage, MessagePart, ToolCallStatus } from "./types";

/** Such as "Thinking...", said before there is anything to think about. */
const acknowledgement = /^[^.\n]{1,40}\.\.\.$/;

/** The reply that is being written. */
export class LiveTurn {
  #parts: MessagePart[] = [];
  #thinking = false;
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
        this.#parts = write(this.#parts, "text", text(data["content"]));
        break;
      case "reasoning":
        this.#thinking = data["isComplete"] !== true;
        if (this.#thinking) this.#think(text(data["reasoning"]));
        break;
      case "run":
        if (data["resumed"] !== true || typeof data["partialLength"] !== "number") return false;
        this.#parts = retell(
          this.#parts,
          told(this.#parts, "text").slice(0, data["partialLength"]),
        );
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
          this.#parts = retell(this.#parts, data["partialText"]);
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
    if (this.#message) return this.#message;
    const calls = callsOf(this.#parts);
    const reasoning = told(this.#parts, "reasoning") || (this.#thinking ? this.#acknowledged : "");
    this.#message = {
      id: this.id,
      type: "ai",
      content: contentOf(this.#parts, (call) => this.#actions.has(call.id)),
      parts: this.#parts,
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
    return this.#parts.length === 0;
  }

  /** Takes in a thought; servers acknowledge a turn with a phrase that is none. */
  #think(thought: string): void {
    if (!this.#acknowledged && this.isEmpty && acknowledgement.test(thought)) {
      this.#acknowledged = thought;
    } else {
      this.#parts = write(this.#parts, "reasoning", thought);
    }
  }

  /** What a call of this turn shows belongs to the call, as in the history. */
  #show(id: string, data: Record<string, unknown>): boolean {
    const call = callsOf(this.#parts).find((call) => call.id === id);
    if (!call) return false;
    const component = { name: text(data["componentName"]), args: record(data["args"]) };
    this.#parts = withCall(this.#parts, { ...call, component });
    this.#message = undefined;
    return true;
  }

  #tool(id: string, data: Record<string, unknown>): void {
    const args = { ...record(data["args"]) };
    delete args["toolName"]; // the server repeats it there for older pages
    this.#parts = withCall(this.#parts, {
      id,
      name: text(data["toolName"]),
      args,
      status: (data["status"] as ToolCallStatus | undefined) ?? "isRunning",
      ...(data["output"] === undefined ? {} : { output: text(data["output"]) }),
      ...(data["error"] === undefined ? {} : { error: text(data["error"]) }),
    });
  }
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
    parts: [{ type: "error", text: message }],
    isComplete: true,
    createdAt: isoNow(),
  };
}

export function isoNow(): string {
  return new Date().toISOString();
}

export function text(value: unknown): string {
  return typeof value === "string"
    ? value
    : value === undefined || value === null
      ? ""
      : String(value);
}
