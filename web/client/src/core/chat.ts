import { Again, mayPass } from "./again";
import type { OracleApi } from "./api";
import { closedState, nextTurn, runningTurn, stateOf, unopened, type ChatState } from "./chatModel";
import { reduce, type ChatAction } from "./chatReducer";
import { isUnanswered, questionOf, storedId } from "./conversation";
import { humanMessage, isoNow } from "./entries";
import { PaymentRequiredError, RequestError } from "./errors";
import type { OracleEvent } from "./events";
import { Flusher, type StreamingMode } from "./flush";
import { Following } from "./following";
import { Cell } from "./observable";
import { randomId } from "./random";
import { Refresher } from "./refresher";
import { SessionApi } from "./session";
import type { TurnEnd, TurnHandlers } from "./turn";
import type { IAttachment, IFeedback, IMessage, IRun, RunStatus, ToolDeclaration } from "./types";

export type { ChatState } from "./chatModel";

/** What the host decides, read anew each time it is needed. */
export interface ChatHost {
  streamingMode(): StreamingMode;
  model(): string | undefined;
  tools(): ToolDeclaration[];
  actions(): ToolDeclaration[];
  multitask(): Multitask | undefined;
  /** How this page names itself to the oracle. */
  tabId: string;
  paymentRequired(claimIds: string[]): void;
}

/** What a message does to a turn that is under way: ends it, waits for its end, or is refused. */
export type Multitask = "interrupt" | "enqueue" | "reject";

/** What begins a turn. */
interface Question {
  /** How the page shows it. */
  mine: IMessage;
  said: Record<string, unknown>;
  multitask: Multitask | false | undefined;
  isBehind: boolean;
  /** The message that is asked anew, as it is shown and as the oracle knows it. */
  anew?: { shown: string; stored: string };
}

/** How long an aborted turn may take to tell what is left of it. */
const abortPatience = 2000;

const running: RunStatus[] = ["queued", "running", "recovering"];

/**
 * One conversation: it asks the oracle and follows turns, and tells the reducer
 * what happened, which alone decides what is shown.
 */
export class Chat {
  readonly state: Cell<ChatState>;
  readonly #session: SessionApi;
  readonly #host: ChatHost;
  readonly #flusher: Flusher;
  readonly #refresher = new Refresher(() => this.#load());
  readonly #again = new Again();
  #model = unopened;
  /** How the newest turn is followed. */
  #line: Following | undefined;
  /** The message that was sent last, to be sent again if it failed. */
  #last: Parameters<Chat["send"]> | undefined;
  /** The run that was under way or the last one, and how far it was. */
  #seen: string | undefined;
  #closed = false;

  constructor(api: OracleApi, sessionId: string, host: ChatHost, pageSize = 20) {
    this.#session = new SessionApi(api, sessionId, pageSize);
    this.#host = host;
    this.#flusher = new Flusher(
      () => this.#publish(),
      () => host.streamingMode(),
    );
    this.state = new Cell(closedState);
  }

  /** Loads the newest history and joins a turn that is under way. */
  async open(isForeign = false): Promise<void> {
    await (isForeign ? this.changed() : this.refetch());
    await this.#joinRunning(isForeign);
  }

  /** Reads again for somebody who asks; of what could not be opened, the turn under way too. */
  async reread(): Promise<void> {
    const { unread } = this.#model;
    await this.refetch();
    if (unread) void this.#joinRunning(false);
  }

  async #joinRunning(isForeign: boolean): Promise<void> {
    if (this.#closed || this.#running || this.#model.unread) return;
    try {
      const run = await this.#session.readRun();
      if (this.#running || this.#closed) return;
      const seen = `${run?.runId} ${run?.status}`;
      const isNews = (this.#seen ?? seen) !== seen;
      this.#seen = seen;
      // It began elsewhere, or ended, after the history was read.
      if (isNews) await this.open(true);
      else if (run && running.includes(run.status)) await this.#join(run, isForeign);
      else if (isUnanswered(this.#model.conversation)) await this.changed();
    } catch (cause) {
      // There is nothing to join, as far as anyone can tell.
      this.#openAgain(cause);
    }
  }

  /**
   * The live channel is up: what could not be read may be there now, and of what began or ended
   * before nobody was told.
   */
  connected(): void {
    if (this.#model.unread) void this.open();
    // Otherwise it is still being opened, and asks for the run when it has the history.
    else if (this.#seen !== undefined) void this.#joinRunning(false);
  }

  /** Stops listening; the turn itself goes on at the server. */
  close(): void {
    this.#closed = true;
    if (this.#running) this.#line?.stop();
    this.#again.cancel();
    this.#flusher.stop();
  }

  refetch(): Promise<void> {
    return this.#refresher.now();
  }

  /** Reads what has changed at the server. */
  changed(): Promise<void> {
    if (!this.#running) return this.#refresher.afresh();
    // Before the end of a turn the reply might be stored that is still shown as
    // it comes in, and would be there twice.
    this.#tell({ type: "outdated" });
    return Promise.resolve();
  }

  async loadEarlier(): Promise<void> {
    const { cursor } = this.#model.conversation;
    if (!cursor || this.#model.view.isLoadingEarlier) return;
    this.#tell({ type: "loadingEarlier" });
    try {
      this.#tell({ type: "earlier", cursor, page: await this.#session.readPage(cursor) });
    } catch (cause) {
      this.#tell({ type: "unreadEarlier", cause });
    }
  }

  /**
   * Asks the last turn again, which failed: another version of it. A message that
   * was not taken is sent again.
   */
  async retry(): Promise<void> {
    if (this.#running) return;
    const last = this.#last;
    if (last && this.#model.conversation.unsent !== undefined) return this.send(...last);
    try {
      await this.askAnew();
    } catch (cause) {
      // Oracles that know no versions take the message once more.
      if (!(last && cause instanceof RequestError && [404, 405].includes(cause.status)))
        throw cause;
      this.clearError();
      await this.send(...last);
    }
  }

  /** Sends a message; resolves when the turn has ended. */
  async send(
    message: string,
    metadata?: Record<string, unknown>,
    attachments?: IAttachment[],
  ): Promise<void> {
    this.#last = [message, metadata, attachments];
    // Who writes here does not mean to end what another page waits for.
    const multitask = this.#host.multitask() ?? (this.#running?.isForeign && "enqueue");
    await this.#ask({
      mine: humanMessage(message, attachments),
      said: {
        message,
        ...(metadata ? { metadata } : {}),
        ...(attachments?.length ? { attachments } : {}),
      },
      multitask,
      isBehind: this.#running !== undefined && multitask === "enqueue",
    });
  }

  /**
   * Asks a turn anew, as it was or with another message in its place, by the id of
   * any of its messages; the last turn without one. Resolves when it has ended.
   */
  async askAnew(id?: string, message?: string, attachments?: IAttachment[]): Promise<void> {
    const shown = questionOf(this.#model.conversation, id)?.id;
    if (shown === undefined) throw new Error("There is no such message");
    // Of the last turn nobody has to know the id.
    const isLast = shown === questionOf(this.#model.conversation)?.id;
    const known = storedId(this.#model.conversation, shown) ?? (isLast ? "last" : undefined);
    const stored = known ?? (await this.#readId(shown));
    const question = questionOf(this.#model.conversation, shown);
    await this.#ask({
      mine: humanMessage(message ?? question?.content ?? "", attachments ?? question?.attachments),
      said: {
        ...(message === undefined ? {} : { message }),
        ...(attachments ? { attachments } : {}),
      },
      // Who asks again does not mean to end what another page waits for.
      multitask: this.#host.multitask() ?? (this.#running?.isForeign && "reject"),
      // Which versions there are the history alone tells.
      isBehind: true,
      anew: { shown, stored },
    });
  }

  /** Shows the version of a turn that begins with a message, as `version.messageIds` names it. */
  async choose(messageId: string): Promise<void> {
    const { messages } = this.state.get();
    const question = messages.find((m) => m.version?.messageIds.includes(messageId));
    await this.#session.choose(messageId);
    if (question) this.#tell({ type: "chosen", question });
    await this.changed();
  }

  /** Says what the reader thinks of an answer; null takes it back. */
  async rate(id: string, rating: IFeedback["rating"] | null, text?: string): Promise<void> {
    const feedback = rating ? { rating, ...(text ? { text } : {}) } : undefined;
    await this.#session.rate(await this.#readId(id), feedback);
    this.#tell({ type: "rated", id, feedback });
  }

  /** Shows other messages; the oracle is not told, and its history comes back when it is read. */
  setMessages(messages: IMessage[]): void {
    this.#tell({ type: "replaced", messages });
  }

  /** What went wrong was seen. */
  clearError(): void {
    this.#tell({ type: "cleared" });
  }

  /** Takes an event of the live channel that changes what is shown. */
  takeEvent(event: OracleEvent): void {
    if (event.eventName === "message_cache_invalidation") {
      const { requestId, ended, title } = event.payload;
      // What this page followed itself it has, and a title is no message.
      if (title === undefined && !(ended && this.#hasFollowed(requestId))) void this.changed();
    }
    if (event.eventName === "run_started" && event.payload.tabId !== this.#host.tabId) {
      void this.#followForeign(event.payload.requestId);
    }
    if (event.eventName === "render_component") {
      this.#tell({ type: "shown", component: event.payload, now: isoNow() });
    }
  }

  /**
   * Aborts the turn at the server and here. The server ends its stream when it
   * has stored what is left of the reply, so that is waited for, but not long.
   */
  async abort(): Promise<void> {
    const line = this.#line;
    if (!line || !this.#running) return;
    const { followed } = line;
    try {
      await this.#session.abort();
      let timer: ReturnType<typeof setTimeout> | undefined;
      const patience = new Promise((resolve) => {
        timer = setTimeout(resolve, abortPatience);
      });
      await Promise.race([followed, patience]);
      clearTimeout(timer);
    } catch (cause) {
      this.#tell({ type: "failed", cause });
    }
    line.stop();
    await followed;
  }

  get #running() {
    return runningTurn(this.#model);
  }

  #hasFollowed(requestId: string): boolean {
    return this.#model.followed.includes(requestId);
  }

  /** What failed for want of a line or a server is tried again. */
  #openAgain(cause: unknown): void {
    if (!this.#closed && mayPass(cause)) this.#again.later(() => void this.open());
  }

  /** The id under which the oracle keeps a message; the history tells new ones. */
  async #readId(id: string): Promise<string> {
    if (storedId(this.#model.conversation, id) === undefined) await this.#refresher.afresh();
    const stored = storedId(this.#model.conversation, id);
    if (stored === undefined) throw new Error("The oracle does not know this message yet");
    return stored;
  }

  /** Posts what begins a turn, and follows it to its end. */
  async #ask({ mine, said, multitask, isBehind, anew }: Question): Promise<void> {
    const before = this.#running && this.#line;
    const answered = this.#line?.answered;
    const line = this.#newLine(true);
    this.#tell({ type: "asked", mine, isBehind, ...(anew ? { question: anew.shown } : {}) });
    const tools = this.#host.tools();
    const actions = this.#host.actions();
    const model = this.#host.model();
    const body: Record<string, unknown> = {
      ...said,
      timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      ...(tools.length ? { tools } : {}),
      ...(actions.length ? { agActions: actions } : {}),
      ...(model ? { model } : {}),
      tabId: this.#host.tabId,
      ...(multitask ? { multitask } : {}),
    };
    try {
      // A message that is still on its way is not called back by the next one.
      await answered;
      before?.stop();
      await this.#follow(
        line,
        (handlers) => this.#session.ask(anew?.stored, body, handlers, line.signal),
        mine.createdAt,
      );
    } catch (cause) {
      this.#tell({ type: "refused", turn: line.turn, mine, cause });
      if (!(cause instanceof PaymentRequiredError)) throw cause;
      this.#host.paymentRequired(cause.claimIds);
    } finally {
      line.answer();
    }
  }

  /** Follows a turn that is under way. */
  async #join(run: IRun, isForeign: boolean): Promise<void> {
    const line = this.#newLine(false);
    this.#tell({ type: "joined", run, isForeign });
    await this.#follow(line, (handlers) => this.#session.resume(run.runId, handlers, line.signal));
  }

  /** Follows a turn that another page began, after the one that is followed now. */
  async #followForeign(requestId: string): Promise<void> {
    await this.#line?.followed;
    if (!this.#hasFollowed(requestId)) await this.open(true);
  }

  /** The line of the turn that begins with the next action. */
  #newLine(isSent: boolean): Following {
    return (this.#line = new Following(nextTurn(this.#model), this.#line, isSent));
  }

  async #follow(
    line: Following,
    start: (handlers: TurnHandlers) => Promise<TurnEnd>,
    createdAt?: string,
  ): Promise<void> {
    const { turn } = line;
    const stream = start({
      accepted: ({ requestId, runId }) => {
        line.answer();
        const replyId = requestId || randomId();
        this.#tell({ type: "accepted", turn, requestId, runId, replyId, createdAt, now: isoNow() });
      },
      frame: (frame) => {
        if (frame.event === "delegation_required" && this.#running?.id === turn) {
          void this.#session.deposit();
        }
        this.#tell({ type: "framed", turn, frame, now: isoNow() });
      },
    });
    line.followed = stream.catch(() => undefined);
    const end = await stream;
    if (this.#running?.id !== turn || this.#closed) return;
    this.#tell({ type: "ended", turn });
    this.#flusher.now();
    const { epoch } = this.#model;
    const loading = this.#refresher.running;
    const { reply, isStale } = this.#model.turn ?? {};
    // Such a stream told all that the history holds: nobody has to be asked.
    const isWhole = end === "done" && reply?.isFinished === true && !loading && !isStale;
    if (!isWhole) {
      // The turn is stored before its stream ends, so history now holds it. One
      // that was asked for earlier may not.
      await loading;
      if (epoch === this.#model.epoch) await this.refetch();
      if (epoch !== this.#model.epoch) return;
    }
    this.#tell({ type: "settled", isWhole });
  }

  async #load(): Promise<void> {
    const epoch = this.#running ? undefined : this.#model.epoch;
    this.#again.cancel();
    try {
      const page = await this.#session.readPage();
      if (this.#closed) return;
      this.#again.reset();
      this.#tell({ type: "loaded", page, epoch });
    } catch (cause) {
      if (this.#closed) return;
      if (cause instanceof PaymentRequiredError) this.#host.paymentRequired(cause.claimIds);
      this.#tell({ type: "unread", cause });
      this.#openAgain(cause);
    }
  }

  /** Something happened. What only adds to the reply reaches the page at the flusher's pace. */
  #tell(action: ChatAction): void {
    const before = this.#model;
    const { conversation, view, turn } = (this.#model = reduce(before, action));
    if (conversation !== before.conversation || view !== before.view) this.#publish();
    else if (turn?.reply !== before.turn?.reply) this.#flusher.touch();
  }

  #publish(): void {
    if (!this.#closed) this.state.set(stateOf(this.#model, this.state.get()));
  }
}
