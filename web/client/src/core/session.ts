import type { OracleApi } from "./api";
import { HistoryPages, type Page } from "./pages";
import { randomId } from "./random";
import { resumeTurn, sendTurn, type TurnEnd, type TurnHandlers } from "./turn";
import type { IFeedback, IRun } from "./types";

/** A session at its oracle: what can be asked of it, and by which routes. */
export class SessionApi {
  readonly #api: OracleApi;
  readonly #sessionId: string;
  readonly #path: string;
  readonly #pages: HistoryPages;

  constructor(api: OracleApi, sessionId: string, pageSize: number) {
    this.#api = api;
    this.#sessionId = sessionId;
    this.#path = `/sessions/${encodeURIComponent(sessionId)}`;
    this.#pages = new HistoryPages(api, sessionId, pageSize);
  }

  /** The newest messages, or those before a cursor. */
  readPage(before?: string): Promise<Page> {
    return this.#pages.read(before);
  }

  /** The run that is under way, or was last. */
  async readRun(): Promise<IRun | null> {
    return (await this.#api.json<{ run: IRun | null }>(`${this.#path}/run`)).run;
  }

  async choose(messageId: string): Promise<void> {
    await this.#api.json(this.#message(messageId, "choose"), { method: "POST" });
  }

  /** Rates a message; nothing takes the rating back. */
  async rate(messageId: string, feedback: IFeedback | undefined): Promise<void> {
    await this.#api.json(this.#message(messageId, "feedback"), {
      method: feedback ? "PUT" : "DELETE",
      ...(feedback ? { body: feedback } : {}),
    });
  }

  async abort(): Promise<void> {
    const body = { sessionId: this.#sessionId };
    await this.#api.json("/messages/abort", { method: "POST", body });
  }

  /** Deposits the user's delegation, which a turn waits for. */
  deposit(): Promise<void> {
    return this.#api.deposit();
  }

  /** Says something, or asks a message anew, and follows the turn that it begins. */
  ask(
    messageId: string | undefined,
    body: Record<string, unknown>,
    handlers: TurnHandlers,
    signal: AbortSignal,
  ): Promise<TurnEnd> {
    const path =
      messageId === undefined
        ? `/messages/${encodeURIComponent(this.#sessionId)}`
        : this.#message(messageId, "versions");
    // By these ids oracles know a message that the browser itself sends again.
    // The oracle takes a repeated message under this name as the same one: ADR 0120.
    const id = `once-${randomId()}`;
    return sendTurn(this.#api, this.#sessionId, path, id, body, handlers, signal);
  }

  resume(runId: string, handlers: TurnHandlers, signal: AbortSignal): Promise<TurnEnd> {
    handlers.accepted({ requestId: runId, runId });
    return resumeTurn(this.#api, runId, handlers, signal);
  }

  #message(id: string, of: string): string {
    return `${this.#path}/messages/${encodeURIComponent(id)}/${of}`;
  }
}
