import type { CredentialKeeper, TokenKind } from "./credentials";
import { readOracleEvent, type OracleEvent } from "./events";
import { openLine, type Connect, type Line } from "./line";
import { Cell } from "./observable";
import type { CallResult } from "./tools";

// Pages speak Socket.IO without its library: ADR 0220.
export interface SocketHost {
  /** Runs a browser tool or an action on this page. */
  call(kind: "tool" | "action", name: string, args: unknown): Promise<CallResult>;
  event(event: OracleEvent): void;
}

/** Calls that were answered, so that a repeated one is not run again. */
const rememberedCalls = 512;

/** How long a channel that was refused twice rests before it asks again with the token it has. */
const rest = 60_000;

/**
 * The live channel of one session. Credentials are read for each attempt, a
 * refused one is renewed once, and every call is run exactly once.
 */
export class OracleSocket {
  readonly connected = new Cell(false);
  readonly #socket: Line;
  readonly #seen = new Set<string>();
  #renewed = false;
  #closed = false;
  #later: ReturnType<typeof setTimeout> | undefined;
  #offered: string | undefined;

  constructor(
    url: string,
    private readonly oracleDid: string,
    private readonly sessionId: string,
    private readonly credentials: CredentialKeeper,
    private readonly host: SocketHost,
    tabId: string,
    connect: Connect = openLine,
  ) {
    this.#socket = connect(url, {
      query: { sessionId, tabId },
      auth: (done) => void this.#auth().then(done),
    });
    this.#socket.on("connect", () => {
      this.connected.set(true);
      this.#socket.emit("subscribe");
    });
    // Only the server's own word proves that the token was taken: some servers
    // accept the line first and refuse the user after.
    this.#socket.on("connected", () => (this.#renewed = false));
    this.#socket.on("disconnect", (reason: string) => {
      this.connected.set(false);
      if (reason === "io server disconnect") void this.#refused();
    });
    this.#socket.on("connect_error", () => void this.#refused());
    this.#socket.onAny((name: string, argument: unknown) => this.#take(name, argument));
  }

  /** The line itself, for what other entries of the package say on it. */
  get line(): Line {
    return this.#socket;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#later);
    this.#socket.offAny();
    this.#socket.disconnect();
    this.connected.set(false);
  }

  async #auth(): Promise<Record<string, string>> {
    const { invocation, delegation } = await this.credentials
      .tokens(this.oracleDid)
      .catch((): Partial<Record<TokenKind, string>> => ({}));
    this.#offered = invocation ?? delegation;
    return {
      ...(invocation ? { invocation } : {}),
      ...(delegation ? { ucanDelegation: delegation } : {}),
    };
  }

  // A refusal by the server ends the client's own attempts: renew the token
  // once and try again. After a second one nobody is asked to sign again; a server
  // that only had a bad moment takes the token that there is.
  async #refused(): Promise<void> {
    if (this.#socket.active || this.#closed) return;
    if (this.#renewed) {
      clearTimeout(this.#later);
      this.#later = setTimeout(() => this.#socket.connect(), rest);
      return;
    }
    this.#renewed = true;
    const kind = this.credentials.can("invocation") ? "invocation" : "delegation";
    try {
      await this.credentials.renew(kind, this.oracleDid, this.#offered);
      if (!this.#closed) this.#socket.connect();
    } catch {
      // Without a token there is no live channel; the chat itself goes on.
    }
  }

  #take(name: string, argument: unknown): void {
    const event = readOracleEvent(name, argument);
    if (!event) return;
    if (event.eventName === "browser_tool_call") {
      void this.#run("tool", "tool_result", event.payload);
    } else if (event.eventName === "action_call" && event.payload.status !== "done") {
      void this.#run("action", "action_call_result", event.payload);
    }
    try {
      this.host.event(event);
    } catch (cause) {
      // The page's own error: reported as such, and the channel lives on.
      queueMicrotask(() => {
        throw cause;
      });
    }
  }

  async #run(
    kind: "tool" | "action",
    reply: string,
    call: { toolCallId: string; toolName: string; args?: Record<string, unknown> },
  ): Promise<void> {
    if (typeof call.toolCallId !== "string" || this.#seen.has(call.toolCallId)) return;
    this.#seen.add(call.toolCallId);
    if (this.#seen.size > rememberedCalls) {
      this.#seen.delete(this.#seen.values().next().value as string);
    }
    const outcome = await this.host.call(kind, call.toolName, call.args);
    this.#socket.emit(reply, {
      toolCallId: call.toolCallId,
      sessionId: this.sessionId,
      ...outcome,
    });
  }
}
