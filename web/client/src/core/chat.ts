import { Again, mayPass } from "./again";
import type { OracleApi } from "./api";
import { dropOldest } from "./bounded";
import {
  empty,
  left,
  loaded,
  refused,
  sent,
  settled,
  shownMessages,
  withdrawn,
  withEarlier,
  withExtra,
} from "./conversation";
import { asError, PaymentRequiredError, TurnError } from "./errors";
import { readOracleEvent, type OracleEvent } from "./events";
import { Flusher, type StreamingMode } from "./flush";
import { errorMessage, isoNow, LiveTurn, text } from "./live";
import { Cell } from "./observable";
import { HistoryPages } from "./pages";
import { write } from "./parts";
import { Refresher } from "./refresher";
import { resumeTurn, sendTurn, type TurnEnd, type TurnHandlers } from "./turn";
import type { ChatStatus, IAttachment, IMessage, IRun, RunStatus, ToolDeclaration } from "./types";

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

/** How long an aborted turn may take to tell what is left of it. */
const abortPatience = 2000;

/** How many requests are remembered whose streams were followed. */
const mostFollowed = 100;

const running: RunStatus[] = ["queued", "running", "recovering"];

/** A turn that this page follows, from the moment it is sent or found under way. */
class Turn {
  readonly #abort = new AbortController();
  readonly signal = this.#abort.signal;
  /** What is written of it; there is nothing before it was accepted. */
  live: LiveTurn | undefined;
  isRunning = true;
  /** What the oracle said went wrong. */
  failure: Error | undefined;
  /** Whether the history changed meanwhile, by something else than this turn. */
  isStale = false;
  /** Settles when its stream is followed no more. Until it has one, that is the turn's before it. */
  followed: Promise<unknown>;
  /** Settles when its message was taken or refused: when answer is called. */
  readonly answered: Promise<void>;
  answer: () => void = () => undefined;

  constructor(before: Turn | undefined, isSent: boolean) {
    this.followed = before?.followed ?? Promise.resolve();
    this.answered = isSent ? new Promise((resolve) => (this.answer = resolve)) : Promise.resolve();
  }

  stop(): void {
    this.#abort.abort();
  }
}

/**
 * One conversation: its stored messages, the turn under way, and what is yet to
 * be acknowledged. Finished messages keep their identity while others stream.
 */
export class Chat {
  readonly state: Cell<ChatState>;
  readonly #api: OracleApi;
  readonly #sessionId: string;
  readonly #host: ChatHost;
  readonly #pages: HistoryPages;
  readonly #flusher: Flusher;
  readonly #refresher = new Refresher(() => this.#load());
  readonly #again = new Again();
  /** The requests whose streams were followed. */
  readonly #followed = new Set<string>();
  #conversation = empty;
  /** The newest turn, which may be over. */
  #turn: Turn | undefined;
  /** Why the history could not be read. */
  #unread: Error | undefined;
  /** The message that was sent last, to be sent again if it failed. */
  #last: Parameters<Chat["send"]> | undefined;
  /** Counts the beginnings and ends of turns. */
  #epoch = 0;
  #closed = false;

  constructor(api: OracleApi, sessionId: string, host: ChatHost, pageSize = 20) {
    this.#api = api;
    this.#sessionId = sessionId;
    this.#host = host;
    this.#pages = new HistoryPages(api, sessionId, pageSize);
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
    if (this.#closed || this.#running || this.#unread) return;
    try {
      const { run } = await this.#api.json<{ run: IRun | null }>(
        `/sessions/${encodeURIComponent(this.#sessionId)}/run`,
      );
      if (run && running.includes(run.status) && !this.#running && !this.#closed) {
        await this.#resume(run);
      }
    } catch (cause) {
      // There is nothing to join, as far as anyone can tell.
      this.#openAgain(cause);
    }
  }

  /** The live channel is up: what could not be read may be there now. */
  connected(): void {
    if (this.#unread) void this.open();
  }

  /** What failed for want of a line or a server is tried again. */
  #openAgain(cause: unknown): void {
    if (!this.#closed && mayPass(cause)) this.#again.later(() => void this.open());
  }

  /** Stops listening; the turn itself goes on at the server. */
  close(): void {
    this.#closed = true;
    this.#running?.stop();
    this.#again.cancel();
    this.#flusher.stop();
  }

  refetch(): Promise<void> {
    return this.#refresher.now();
  }

  /** Reads what has changed at the server. */
  changed(): Promise<void> {
    const turn = this.#running;
    if (!turn) return this.#refresher.afresh();
    // Before the end of a turn the reply might be stored that is still shown as
    // it comes in, and would be there twice.
    turn.isStale = true;
    return Promise.resolve();
  }

  async loadEarlier(): Promise<void> {
    const { cursor } = this.#conversation;
    if (!cursor || this.state.get().isLoadingEarlier) return;
    this.#publish({ isLoadingEarlier: true });
    try {
      const page = await this.#pages.read(cursor);
      // A refetch may have begun the history anew; then this page joins nothing.
      if (this.#conversation.cursor === cursor) {
        this.#conversation = withEarlier(this.#conversation, page);
      }
      this.#publish({ isLoadingEarlier: false });
    } catch (cause) {
      this.#publish({ isLoadingEarlier: false, error: asError(cause) });
    }
  }

  /** Sends the last message again, whose turn failed or which was not taken. */
  async retry(): Promise<void> {
    if (this.#last && !this.#running) await this.send(...this.#last);
  }

  /** Sends a message; resolves when the turn has ended. */
  async send(
    message: string,
    metadata?: Record<string, unknown>,
    attachments?: IAttachment[],
  ): Promise<void> {
    this.#last = [message, metadata, attachments];
    const before = this.#running;
    const answered = this.#turn?.answered;
    const turn = this.#begin(true);
    const mine: IMessage = {
      id: randomId(),
      type: "human",
      content: message,
      parts: write([], "text", message),
      createdAt: isoNow(),
      ...(attachments?.length ? { attachments } : {}),
    };
    this.#conversation = sent(this.#conversation, mine);
    this.#publish({ status: "submitted", sendMessageError: undefined, error: this.#unread });
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
      // A message that is still on its way is not called back by the next one.
      await answered;
      before?.stop();
      // By these ids oracles know a message that the browser itself sends again.
      const id = `once-${randomId()}`;
      await this.#follow(
        turn,
        (handlers) => sendTurn(this.#api, this.#sessionId, id, body, handlers, turn.signal),
        mine.createdAt,
      );
    } catch (cause) {
      const isNewest = this.#running === turn;
      if (isNewest) {
        this.#end(turn);
        if (!turn.live) this.#conversation = refused(this.#conversation, mine);
        this.#keepLive();
      } else {
        this.#conversation = withdrawn(this.#conversation, mine);
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
      turn.answer();
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
    if (this.#turn?.live?.take({ event: event.eventName, data: { ...event.payload } })) {
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
    const turn = this.#running;
    if (!turn) return;
    const { followed } = turn;
    try {
      await this.#api.json("/messages/abort", {
        method: "POST",
        body: { sessionId: this.#sessionId },
      });
      let timer: ReturnType<typeof setTimeout> | undefined;
      const patience = new Promise((resolve) => {
        timer = setTimeout(resolve, abortPatience);
      });
      await Promise.race([followed, patience]);
      clearTimeout(timer);
    } catch (cause) {
      this.#publish({ error: asError(cause) });
    }
    turn.stop();
    await followed;
  }

  /** The turn under way, if there is one. */
  get #running(): Turn | undefined {
    return this.#turn?.isRunning ? this.#turn : undefined;
  }

  #begin(isSent: boolean): Turn {
    this.#keepLive();
    this.#epoch++;
    return (this.#turn = new Turn(this.#turn, isSent));
  }

  #end(turn: Turn): void {
    turn.isRunning = false;
    this.#epoch++;
  }

  async #resume(run: IRun): Promise<void> {
    const turn = this.#begin(false);
    this.#publish({ run });
    await this.#follow(turn, (handlers) => {
      handlers.accepted({ requestId: run.runId, runId: run.runId });
      return resumeTurn(this.#api, run.runId, handlers, turn.signal);
    });
  }

  async #follow(
    turn: Turn,
    start: (handlers: TurnHandlers) => Promise<TurnEnd>,
    createdAt?: string,
  ): Promise<void> {
    const stream = start({
      accepted: ({ requestId, runId }) => {
        turn.answer();
        if (this.#running !== turn) return;
        turn.isStale = false;
        this.#remember(requestId);
        turn.live = new LiveTurn(requestId || randomId(), createdAt);
        this.#publish({
          status: "streaming",
          ...(runId ? { run: { runId, status: "running" as const } } : {}),
        });
      },
      frame: (frame) => {
        if (this.#running !== turn || !turn.live) return;
        if (frame.event === "run") this.#remember(text(frame.data["requestId"]));
        if (frame.event === "delegation_required") void this.#api.deposit();
        if (frame.event === "error") {
          turn.failure = new TurnError(frame.data);
          this.#addExtra(errorMessage(turn.live.id, turn.failure.message));
        }
        if (frame.event === "render_component") {
          const event = readOracleEvent(frame.event, frame.data);
          if (event) this.takeEvent(event);
        } else if (turn.live.take(frame)) this.#flusher.touch();
      },
    });
    turn.followed = stream.catch(() => undefined);
    const end = await stream;
    if (this.#running !== turn || this.#closed) return;
    this.#end(turn);
    const epoch = this.#epoch;
    // After some errors a turn goes on.
    const failure = turn.live?.isFinished ? undefined : turn.failure;
    this.#flusher.now();
    const loading = this.#refresher.running;
    if (end === "done" && turn.live?.isFinished && !loading && !turn.isStale) {
      // The stream told all that the history holds: nobody has to be asked.
      this.#keepLive();
      this.#conversation = settled(this.#conversation);
      this.#publish({ status: "ready", run: undefined });
      return;
    }
    // The turn is stored before its stream ends, so history now holds it. One
    // that was asked for earlier may not.
    await loading;
    if (epoch === this.#epoch) await this.refetch();
    if (epoch !== this.#epoch) return;
    this.#keepLive();
    this.#publish({
      status: failure ? "error" : "ready",
      ...(failure ? { error: failure } : {}),
      run: undefined,
    });
  }

  #remember(requestId: string): void {
    this.#followed.add(requestId);
    dropOldest(this.#followed, mostFollowed);
  }

  /** What was written of a turn stays to be seen when the turn is over. */
  #keepLive(): void {
    const live = this.#turn?.live;
    if (!this.#turn || !live) return;
    this.#turn.live = undefined;
    if (!live.isEmpty) this.#conversation = left(this.#conversation, live.message());
  }

  #addExtra(message: IMessage): void {
    this.#conversation = withExtra(this.#conversation, message, this.#turn?.live?.id);
    this.#publish({});
  }

  async #load(): Promise<void> {
    const epoch = this.#epoch;
    const idle = !this.#running;
    this.#again.cancel();
    try {
      const page = await this.#pages.read();
      if (this.#closed) return;
      this.#again.reset();
      // Only what was asked for while no turn ran holds all that is shown.
      const isWhole = idle && epoch === this.#epoch;
      const { unsent } = this.#conversation;
      const live = this.#turn?.live?.message();
      this.#conversation = loaded(this.#conversation, page, live, isWhole);
      if (isWhole && this.#turn) this.#turn.live = undefined;
      const isThere = unsent !== this.#conversation.unsent;
      // What is wrong with a turn stays to be seen.
      const { error } = this.state.get();
      this.#publish({
        isLoading: false,
        error: error === this.#unread ? undefined : error,
        ...(isThere ? { status: "ready", sendMessageError: undefined } : {}),
      });
      this.#unread = undefined;
    } catch (cause) {
      if (this.#closed) return;
      if (cause instanceof PaymentRequiredError) this.#host.paymentRequired(cause.claimIds);
      this.#unread = asError(cause);
      this.#publish({ isLoading: false, error: this.#unread });
      this.#openAgain(cause);
    }
  }

  #publish(change: Partial<ChatState>): void {
    if (this.#closed) return;
    const before = this.state.get();
    const messages = shownMessages(this.#conversation, this.#turn?.live?.message());
    const same =
      messages.length === before.messages.length &&
      messages.every((m, i) => m === before.messages[i]);
    const next = {
      ...before,
      ...change,
      messages: same ? before.messages : messages,
      hasEarlier: this.#conversation.cursor !== null,
    };
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
