import type { OracleApi } from "./api";
import { asError, PaymentRequiredError, RequestError } from "./errors";
import { readOracleEvent, type OracleEvent } from "./events";
import { Flusher, type StreamingMode } from "./flush";
import { adopt, merge, place, settle, type Extra } from "./history";
import { errorMessage, isoNow, LiveTurn, text } from "./live";
import { Cell } from "./observable";
import { resumeTurn, sendTurn, type Frame, type TurnEnd } from "./turn";
import type {
  ChatStatus,
  IAttachment,
  IMessage,
  IRun,
  RunStatus,
  StoredMessage,
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

/** How long an aborted turn may take to tell what is left of it. */
const abortPatience = 2000;

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
  #extras: Extra[] = [];
  /** The message that the oracle did not take. */
  #unsent: string | undefined;
  /** Stored messages that came by a stream: the server's ids of them are not known yet. */
  readonly #streamed = new Set<string>();
  /** The requests whose streams were followed to their end. */
  readonly #followed = new Set<string>();
  /** Whether the history changed while a turn ran, by something else than that turn. */
  #stale = false;
  /** Whether this oracle knows nothing of pages. */
  #unpaged = false;
  /** Ids under which the page shows messages that the server keeps under others. */
  readonly #shownIds = new Map<string, string>();
  #live: LiveTurn | undefined;
  #cursor: string | null = null;
  #abort: AbortController | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  /** Settles when the newest message was taken or refused. */
  #answered: Promise<void> = Promise.resolve();
  /** Counts the beginnings and ends of turns. */
  #epoch = 0;
  #loading: Promise<void> | undefined;
  #again: Promise<void> | undefined;
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

  /** Reads what has changed at the server. A reading under way may have missed it. */
  changed(): Promise<void> {
    // Before the end of a turn the reply might be stored that is still shown as
    // it comes in, and would be there twice.
    this.#stale ||= this.#abort !== undefined;
    if (this.#abort) return Promise.resolve();
    this.#again ??= Promise.resolve(this.#loading).then(() => {
      this.#again = undefined;
      return this.refetch();
    });
    return this.#again;
  }

  async loadEarlier(): Promise<void> {
    const cursor = this.#cursor;
    if (!cursor || this.state.get().isLoadingEarlier) return;
    this.#publish({ isLoadingEarlier: true });
    try {
      const page = await this.#page(`&before=${encodeURIComponent(cursor)}`);
      // A refetch may have begun the history anew; then this page joins nothing.
      if (this.#cursor === cursor) {
        const known = new Set(this.#stored.map((m) => m.id));
        const earlier = settle(page.messages, [], this.#shownIds).filter((m) => !known.has(m.id));
        this.#stored = [...earlier, ...this.#stored];
        this.#setCursor(page);
      }
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
    const before = this.#abort;
    const answered = this.#answered;
    this.#keepLive();
    const abort = new AbortController();
    this.#abort = abort;
    this.#epoch++;
    const mine: IMessage = {
      id: randomId(),
      type: "human",
      content: message,
      createdAt: isoNow(),
      ...(attachments?.length ? { attachments } : {}),
    };
    // What was refused before is not in the conversation; this may be the same again.
    this.#pending = [...this.#pending.filter((m) => m.id !== this.#unsent), mine];
    this.#unsent = undefined;
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
    let settle!: () => void;
    this.#answered = new Promise((resolve) => (settle = resolve));
    try {
      // A message that is still on its way is not called back by the next one.
      await answered;
      before?.abort();
      await this.#follow(
        abort,
        (handlers) => {
          const accepted: typeof handlers.accepted = (ids) => {
            settle();
            handlers.accepted(ids);
          };
          const told = { ...handlers, accepted };
          // By these ids oracles know a message that the browser itself sends again.
          const id = `once-${randomId()}`;
          return sendTurn(this.#api, this.#sessionId, id, body, told, abort.signal);
        },
        mine.createdAt,
      );
    } catch (cause) {
      const isNewest = this.#abort === abort;
      if (isNewest) {
        this.#abort = undefined;
        this.#epoch++;
        if (!this.#live) this.#unsent = mine.id;
        this.#keepLive();
      } else {
        // The next message is under way, and would take this one along into the history.
        this.#pending = this.#pending.filter((m) => m !== mine);
      }
      const isUnpaid = cause instanceof PaymentRequiredError;
      this.#publish(
        !isNewest
          ? {}
          : isUnpaid
            ? { status: "ready" }
            : { status: "error", sendMessageError: asError(cause) },
      );
      if (!isUnpaid) throw cause;
      this.#host.paymentRequired(cause.claimIds);
    } finally {
      settle();
    }
  }

  /** Takes an event of the live channel that changes what is shown. */
  takeEvent(event: OracleEvent): void {
    if (event.eventName === "message_cache_invalidation") {
      const { requestId, ended, title } = event.payload;
      // What this page followed itself it has, and a title is no message.
      if (title === undefined && !(ended && this.#followed.has(requestId))) void this.changed();
    }
    if (event.eventName !== "render_component") return;
    if (this.#live?.take({ event: event.eventName, data: { ...event.payload } })) {
      this.#flusher.touch();
      return;
    }
    const { componentName, args, status, eventId, requestId } = event.payload;
    const id = `${requestId}-render_component-${eventId ?? componentName}`;
    this.#addExtra({
      id,
      type: "ai",
      content: {
        name: componentName,
        props: { id, args: args ?? {}, ...(status ? { status } : {}), event: event.eventName },
      },
      isComplete: true,
      createdAt: isoNow(),
    });
  }

  /**
   * Aborts the turn at the server and here. The server ends its stream when it
   * has stored what is left of the reply, so that is waited for, but not long.
   */
  async abort(): Promise<void> {
    const abort = this.#abort;
    if (!abort) return;
    const turn = this.#turn;
    try {
      await this.#api.json("/messages/abort", {
        method: "POST",
        body: { sessionId: this.#sessionId },
      });
      let timer: ReturnType<typeof setTimeout> | undefined;
      const patience = new Promise((resolve) => {
        timer = setTimeout(resolve, abortPatience);
      });
      await Promise.race([turn, patience]);
      clearTimeout(timer);
    } catch (cause) {
      this.#publish({ error: asError(cause) });
    }
    abort.abort();
    await turn;
  }

  async #resume(run: IRun): Promise<void> {
    const abort = new AbortController();
    this.#abort = abort;
    this.#epoch++;
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
    createdAt?: string,
  ): Promise<void> {
    const turn = start({
      accepted: ({ requestId, runId }) => {
        if (this.#abort !== abort) return;
        this.#stale = false;
        this.#followed.add(requestId);
        this.#live = new LiveTurn(requestId || randomId(), createdAt);
        this.#publish({
          status: "streaming",
          ...(runId ? { run: { runId, status: "running" as const } } : {}),
        });
      },
      frame: (frame) => {
        if (this.#abort !== abort || !this.#live) return;
        if (frame.event === "run") this.#followed.add(text(frame.data["requestId"]));
        if (frame.event === "delegation_required") void this.#api.deposit();
        if (frame.event === "error") {
          this.#addExtra(errorMessage(this.#live.id, text(frame.data["error"])));
        }
        if (frame.event === "render_component") {
          const event = readOracleEvent(frame.event, frame.data);
          if (event) this.takeEvent(event);
        } else if (this.#live.take(frame)) this.#flusher.touch();
      },
    });
    this.#turn = turn.catch(() => undefined);
    const end = await turn;
    if (this.#abort !== abort || this.#closed) return;
    this.#abort = undefined;
    const epoch = ++this.#epoch;
    this.#flusher.now();
    if (end === "done" && this.#live?.isFinished && !this.#loading && !this.#stale) {
      // The stream told all that the history holds: nobody has to be asked.
      this.#keepLive();
      this.#pending.forEach((m) => this.#streamed.add(m.id));
      this.#stored = [...this.#stored, ...this.#pending];
      this.#pending = [];
      this.#publish({ status: "ready", run: undefined });
      return;
    }
    // The turn is stored before its stream ends, so history now holds it. One
    // that was asked for earlier may not.
    await this.#loading;
    if (epoch === this.#epoch) await this.refetch();
    if (epoch !== this.#epoch) return;
    this.#keepLive();
    this.#publish({ status: "ready", run: undefined });
  }

  /** What was written of a turn stays to be seen until the history holds it. */
  #keepLive(): void {
    const live = this.#live;
    this.#live = undefined;
    if (!live || live.isEmpty) return;
    const left = { ...live.message(), isComplete: true, isReasoning: false };
    this.#pending = [...this.#pending, left];
  }

  #addExtra(message: IMessage): void {
    const before = this.#extras.find((e) => e.message.id === message.id);
    const after = before
      ? before.after
      : (this.#live?.id ?? this.#pending.at(-1)?.id ?? this.#stored.at(-1)?.id);
    this.#extras = [...this.#extras.filter((e) => e !== before), { message, after }];
    this.#publish({});
  }

  async #load(): Promise<void> {
    const epoch = this.#epoch;
    const idle = !this.#abort;
    try {
      const page = await this.#page("");
      if (this.#closed) return;
      // Only what was asked for while no turn ran holds all that is shown.
      const whole = idle && epoch === this.#epoch;
      const live = whole ? this.#live?.message() : undefined;
      const mine = whole ? this.#pending : this.#pending.filter((m) => m.type === "human");
      const known = new Set(this.#stored.map((m) => m.id));
      const streamed = this.#stored.filter((m) => this.#streamed.has(m.id));
      const shown = [...mine, ...(live ? [live] : [])];
      const ids = adopt(page.messages, [...streamed, ...shown], (id) =>
        known.has(this.#shownIds.get(id) ?? id),
      );
      ids.forEach((shown, id) => {
        this.#shownIds.set(id, shown);
        this.#streamed.delete(shown);
      });
      const stored = new Set(ids.values());
      // The answer was lost, and the message was not.
      const isThere = this.#unsent !== undefined && stored.has(this.#unsent);
      if (whole) {
        this.#pending = [];
        this.#live = undefined;
      } else {
        this.#pending = this.#pending.filter((m) => !stored.has(m.id));
      }
      const { messages, joined } = merge(
        this.#stored,
        settle(page.messages, [...this.#stored, ...shown], this.#shownIds),
      );
      this.#stored = messages;
      if (!joined) this.#setCursor(page);
      this.#publish({
        isLoading: false,
        error: undefined,
        hasEarlier: this.#cursor !== null,
        ...(isThere ? { status: "ready", sendMessageError: undefined } : {}),
      });
    } catch (cause) {
      if (this.#closed) return;
      if (cause instanceof PaymentRequiredError) this.#host.paymentRequired(cause.claimIds);
      this.#publish({ isLoading: false, error: asError(cause) });
    }
  }

  async #page(query: string): Promise<Page> {
    const id = encodeURIComponent(this.#sessionId);
    if (!this.#unpaged) {
      try {
        return await this.#api.json<Page>(
          `/sessions/${id}/messages?limit=${this.#pageSize}${query}`,
        );
      } catch (cause) {
        // The status decides, not the body: who knows no pages may say so in any words.
        if (!(cause instanceof RequestError && [404, 405].includes(cause.status))) throw cause;
      }
    }
    const page = await this.#api.json<Page>(`/messages/${id}`);
    this.#unpaged = true;
    return page;
  }

  #setCursor(page: Page): void {
    this.#cursor = page.hasOlder ? (page.prevCursor ?? page.messages[0]?.id ?? null) : null;
  }

  #publish(change: Partial<ChatState>): void {
    if (this.#closed) return;
    const before = this.state.get();
    const live = this.#live?.message();
    const messages = place(
      [...this.#stored, ...this.#pending, ...(live ? [live] : [])],
      this.#extras,
    );
    const same =
      messages.length === before.messages.length &&
      messages.every((m, i) => m === before.messages[i]);
    const next = { ...before, ...change, messages: same ? before.messages : messages };
    const changed = (Object.keys(next) as (keyof ChatState)[]).some((k) => next[k] !== before[k]);
    if (changed) this.state.set(next);
  }
}

function randomId(): string {
  if (typeof crypto !== "undefined" && typeof crypto.randomUUID === "function") {
    return crypto.randomUUID();
  }
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) =>
    b.toString(16).padStart(2, "0"),
  ).join("");
}
