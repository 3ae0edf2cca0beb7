import type { OracleApi } from "./api";
import { asError, PaymentRequiredError } from "./errors";
import type { OracleEvent } from "./events";
import { Flusher, type StreamingMode } from "./flush";
import { Cell } from "./observable";
import { resumeTurn, sendTurn, type Frame, type TurnEnd } from "./turn";
import type {
  ChatStatus,
  IAttachment,
  IMessage,
  IRun,
  IToolCall,
  RunStatus,
  StoredMessage,
  ToolCallStatus,
  ToolDeclaration,
} from "./types";

/** What a page sees of a conversation. A new object only when something changed. */
export interface ChatState {
  messages: IMessage[];
  status: ChatStatus;
  isLoading: boolean;
  error: Error | undefined;
  sendMessageError: Error | undefined;
  run: IRun | undefined;
  hasEarlier: boolean;
  isLoadingEarlier: boolean;
}

/** What the host decides, read anew each time it is needed. */
export interface ChatHost {
  streamingMode(): StreamingMode;
  model(): string | undefined;
  tools(): ToolDeclaration[];
  actions(): ToolDeclaration[];
  paymentRequired(claimIds: string[]): void;
}

interface Page {
  messages: StoredMessage[];
  prevCursor?: string | null;
  hasOlder?: boolean;
}

const running: RunStatus[] = ["queued", "running", "recovering"];

/**
 * One conversation: its stored messages, the turn under way, and what is yet to
 * be acknowledged. Finished messages keep their identity while others stream.
 */
export class Chat {
  readonly state: Cell<ChatState>;
  readonly #api: OracleApi;
  readonly #sessionId: string;
  readonly #host: ChatHost;
  readonly #pageSize: number;
  readonly #flusher: Flusher;
  #stored: IMessage[] = [];
  #pending: IMessage[] = [];
  #components: IMessage[] = [];
  #live: LiveTurn | undefined;
  #cursor: string | null = null;
  #abort: AbortController | undefined;
  #loading: Promise<void> | undefined;
  #closed = false;

  constructor(api: OracleApi, sessionId: string, host: ChatHost, pageSize = 20) {
    this.#api = api;
    this.#sessionId = sessionId;
    this.#host = host;
    this.#pageSize = pageSize;
    this.#flusher = new Flusher(
      () => this.#publish({}),
      () => host.streamingMode(),
    );
    this.state = new Cell<ChatState>({
      messages: [],
      status: "ready",
      isLoading: true,
      error: undefined,
      sendMessageError: undefined,
      run: undefined,
      hasEarlier: false,
      isLoadingEarlier: false,
    });
  }

  /** Loads the newest history and joins a turn that is under way. */
  async open(): Promise<void> {
    await this.refetch();
    if (this.#closed || this.#abort) return;
    try {
      const { run } = await this.#api.json<{ run: IRun | null }>(
        `/sessions/${encodeURIComponent(this.#sessionId)}/run`,
      );
      if (run && running.includes(run.status) && !this.#abort && !this.#closed) {
        await this.#resume(run);
      }
    } catch {
      // Nothing to join, as far as anyone can tell.
    }
  }

  /** Stops listening; the turn itself goes on at the server. */
  close(): void {
    this.#closed = true;
    this.#abort?.abort();
    this.#flusher.stop();
  }

  refetch(): Promise<void> {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async loadEarlier(): Promise<void> {
    if (!this.#cursor || this.state.get().isLoadingEarlier) return;
    this.#publish({ isLoadingEarlier: true });
    try {
      const page = await this.#page(`&before=${encodeURIComponent(this.#cursor)}`);
      this.#stored = [...page.messages.map(fromStored), ...this.#stored];
      this.#setCursor(page);
      this.#publish({ isLoadingEarlier: false, hasEarlier: this.#cursor !== null });
    } catch (cause) {
      this.#publish({ isLoadingEarlier: false, error: asError(cause) });
    }
  }

  /** Sends a message; resolves when the turn has ended. */
  async send(
    message: string,
    metadata?: Record<string, unknown>,
    attachments?: IAttachment[],
  ): Promise<void> {
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    const mine: IMessage = {
      id: randomId(),
      type: "human",
      content: message,
      ...(attachments?.length ? { attachments } : {}),
    };
    this.#pending = [...this.#pending, mine];
    this.#live = undefined;
    this.#publish({ status: "submitted", sendMessageError: undefined });
    const tools = this.#host.tools();
    const actions = this.#host.actions();
    const model = this.#host.model();
    const body: Record<string, unknown> = {
      message,
      timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      ...(metadata ? { metadata } : {}),
      ...(attachments?.length ? { attachments } : {}),
      ...(tools.length ? { tools } : {}),
      ...(actions.length ? { agActions: actions } : {}),
      ...(model ? { model } : {}),
    };
    try {
      await this.#follow(abort, (handlers) =>
        sendTurn(this.#api, this.#sessionId, body, handlers, abort.signal),
      );
    } catch (cause) {
      if (this.#abort !== abort) return;
      this.#abort = undefined;
      this.#live = undefined;
      if (cause instanceof PaymentRequiredError) {
        this.#publish({ status: "ready" });
        this.#host.paymentRequired(cause.claimIds);
        return;
      }
      this.#publish({ status: "error", sendMessageError: asError(cause) });
      throw cause;
    }
  }

  /** Takes an event of the live channel that adds something to show. */
  takeEvent(event: OracleEvent): void {
    if (event.eventName !== "render_component") return;
    const { componentName, args, status, eventId, requestId } = event.payload;
    const id = `${requestId}-render_component-${eventId ?? componentName}`;
    const shown: IMessage = {
      id,
      type: "ai",
      content: {
        name: componentName,
        props: { id, args: args ?? {}, ...(status ? { status } : {}), event: event.eventName },
      },
      isComplete: true,
    };
    this.#components = [...this.#components.filter((m) => m.id !== id), shown];
    this.#publish({});
  }

  /** Aborts the turn at the server and here. */
  async abort(): Promise<void> {
    const abort = this.#abort;
    if (!abort) return;
    try {
      await this.#api.json("/messages/abort", {
        method: "POST",
        body: { sessionId: this.#sessionId },
      });
    } finally {
      abort.abort();
    }
  }

  async #resume(run: IRun): Promise<void> {
    const abort = new AbortController();
    this.#abort = abort;
    this.#publish({ run });
    await this.#follow(abort, (handlers) => {
      handlers.accepted({ requestId: run.runId, runId: run.runId });
      return resumeTurn(this.#api, run.runId, handlers, abort.signal);
    });
  }

  async #follow(
    abort: AbortController,
    start: (handlers: {
      accepted(ids: { requestId: string; runId: string | undefined }): void;
      frame(frame: Frame): void;
    }) => Promise<TurnEnd>,
  ): Promise<void> {
    const end = await start({
      accepted: ({ requestId, runId }) => {
        if (this.#abort !== abort) return;
        this.#live = new LiveTurn(requestId || randomId());
        this.#publish({
          status: "streaming",
          ...(runId ? { run: { runId, status: "running" as const } } : {}),
        });
      },
      frame: (frame) => {
        if (this.#abort !== abort || !this.#live) return;
        if (frame.event === "delegation_required") void this.#api.deposit();
        if (this.#live.take(frame)) this.#flusher.touch();
      },
    });
    if (this.#abort !== abort || this.#closed) return;
    this.#abort = undefined;
    this.#flusher.now();
    // The turn is stored before its stream ends, so history now holds it.
    if (end !== "disconnected" || this.#live) await this.refetch();
    this.#publish({ status: "ready", run: undefined });
  }

  async #load(): Promise<void> {
    try {
      const page = await this.#page("");
      if (this.#closed) return;
      const fresh = page.messages.map(fromStored);
      this.#stored = merge(this.#stored, fresh);
      if (this.state.get().isLoading) this.#setCursor(page);
      if (!this.#abort) {
        this.#pending = [];
        this.#live = undefined;
      }
      this.#publish({ isLoading: false, error: undefined, hasEarlier: this.#cursor !== null });
    } catch (cause) {
      if (this.#closed) return;
      if (cause instanceof PaymentRequiredError) this.#host.paymentRequired(cause.claimIds);
      this.#publish({ isLoading: false, error: asError(cause) });
    }
  }

  #page(query: string): Promise<Page> {
    const id = encodeURIComponent(this.#sessionId);
    return this.#api.json<Page>(`/sessions/${id}/messages?limit=${this.#pageSize}${query}`);
  }

  #setCursor(page: Page): void {
    this.#cursor = page.hasOlder ? (page.prevCursor ?? page.messages[0]?.id ?? null) : null;
  }

  #publish(change: Partial<ChatState>): void {
    if (this.#closed) return;
    const before = this.state.get();
    const messages = [...this.#stored, ...this.#pending];
    const live = this.#live?.message();
    if (live) messages.push(live);
    messages.push(...this.#components);
    const same =
      messages.length === before.messages.length &&
      messages.every((m, i) => m === before.messages[i]);
    const next = { ...before, ...change, messages: same ? before.messages : messages };
    const changed = (Object.keys(next) as (keyof ChatState)[]).some((k) => next[k] !== before[k]);
    if (changed) this.state.set(next);
  }
}

/** The reply that is being written. */
class LiveTurn {
  #text = "";
  #reasoning = "";
  #thinking = false;
  #tools = new Map<string, IToolCall>();
  #error: string | undefined;
  #message: IMessage | undefined;

  constructor(readonly id: string) {}

  /** Takes a frame in; reports whether there is anything new to show. */
  take({ event, data }: Frame): boolean {
    switch (event) {
      case "message":
        this.#text += text(data["content"]);
        break;
      case "reasoning":
        this.#thinking = data["isComplete"] !== true;
        if (this.#thinking) this.#reasoning += text(data["reasoning"]);
        break;
      case "run":
        if (data["resumed"] !== true || typeof data["partialLength"] !== "number") return false;
        this.#text = this.#text.slice(0, data["partialLength"]);
        break;
      case "tool_call":
        this.#tool(text(data["eventId"]), data);
        break;
      case "action_call":
        this.#tool(text(data["toolCallId"]), data);
        break;
      case "error":
        this.#error = text(data["error"]);
        break;
      case "done":
        this.#thinking = false;
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

  message(): IMessage {
    this.#message ??= {
      id: this.id,
      type: "ai",
      content: this.#error ? [this.#text, errorPart(this.id, this.#error)] : this.#text,
      isComplete: false,
      isReasoning: this.#thinking,
      ...(this.#reasoning ? { reasoning: this.#reasoning } : {}),
      ...(this.#tools.size > 0 ? { toolCalls: [...this.#tools.values()] } : {}),
    };
    return this.#message;
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

function errorPart(id: string, message: string) {
  return {
    name: "Error",
    props: { id: `${id}-error`, args: { message }, status: "error" as const, error: message },
  };
}

function text(value: unknown): string {
  return typeof value === "string"
    ? value
    : value === undefined || value === null
      ? ""
      : String(value);
}

function record(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === "object" ? (value as Record<string, unknown>) : {};
}

function fromStored(m: StoredMessage): IMessage {
  return { ...m };
}

/**
 * Puts a fresh newest page over what was known: older pages stay, and a message
 * that did not change keeps its identity, so that nothing flickers.
 */
function merge(known: IMessage[], fresh: IMessage[]): IMessage[] {
  const byId = new Map(known.map((m) => [m.id, m]));
  const settled = fresh.map((m) => {
    const old = byId.get(m.id);
    return old && JSON.stringify(old) === JSON.stringify(m) ? old : m;
  });
  const first = fresh[0];
  const at = first ? known.findIndex((m) => m.id === first.id) : -1;
  return at > 0 ? [...known.slice(0, at), ...settled] : settled;
}

function randomId(): string {
  if (typeof crypto !== "undefined" && typeof crypto.randomUUID === "function") {
    return crypto.randomUUID();
  }
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) =>
    b.toString(16).padStart(2, "0"),
  ).join("");
}
