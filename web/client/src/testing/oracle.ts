import type { Network } from "../core/client";
import type { OracleEventName, OracleEventPayloads } from "../core/events";
import type { IFeedback, StoredMessage } from "../core/types";
import type { IMemory } from "../react/useMemoryEngine";
import type { IModel } from "../react/useModels";
import type { IChatSession } from "../core/sessions";
import { FakeSocket } from "./socket";
import { FakeVersions } from "./versions";
import { FakeNetwork, FakeStream, json, type SeenRequest } from "./wire";

/** What the fake oracle says to a message; a text alone is its reply. */
export interface FakeReply {
  text?: string;
  reasoning?: string;
  /** The turn fails with this message after what it said. */
  error?: string;
  /** Whether asking again may help, where the oracle says so. */
  retryable?: boolean;
}

/** Decides what the fake oracle says. */
export type Respond = (
  message: string,
  request: SeenRequest,
) => string | FakeReply | Promise<string | FakeReply>;

/** What a browser tool or an action of the page answered. */
export interface FakeCallResult {
  toolCallId: string;
  sessionId: string;
  result?: unknown;
  error?: string;
}

/**
 * An oracle that lives in a test: it keeps sessions, histories and memories,
 * streams what `respond` says, calls the page's tools and actions, and emits
 * events. It opens no connection; hand it to FakeOraclesProvider.
 */
export class FakeOracle extends FakeNetwork {
  readonly did = "did:ixo:entity:fake";
  readonly url = "http://oracle.test";
  /** Where hooks look the oracle up, as the provider's queryGateway. */
  readonly queryGateway = `${this.url}/ixo`;
  sessions: IChatSession[] = [];
  readonly history = new Map<string, StoredMessage[]>();
  memories: IMemory[] = [];
  models: IModel[] = [{ id: "fake", label: "Fake", isDefault: true }];
  /** The pages that are connected, oldest first. */
  readonly sockets: FakeSocket[] = [];
  respond: Respond = (message) => `You said: ${message}`;
  #count = 0;
  readonly #versions = new FakeVersions(this.history);
  #claims: string[] | undefined;
  /** Who waits for the stream of a message, first come, first served. */
  readonly #writers: ((stream: FakeStream) => void)[] = [];

  constructor() {
    super();
    this.#serveConfig();
    this.#serveSessions();
    this.#serveMemory();
    this.#serveVersions();
    // What pages ask on their own is answered as by an oracle that has none of it.
    this.on("POST", /^\/delegation$/, () => json({ success: true }));
    this.on("GET", /^\/knowledge\/collections$/, () => json({ collections: [] }));
    this.on("GET", /^\/sessions\/[^/]+\/approvals$/, () => json({ approvals: [] }));
    this.on("GET", /^\/models$/, () => json({ models: this.models, default: this.models[0]?.id }));
    this.on("POST", /^\/messages\/(?!abort$)[^/]+$/, (request, signal) => {
      const sessionId = part(request, 2);
      const { message } = request.body as { message?: unknown };
      return this.#turn(sessionId, this.#question(String(message ?? "")), request, signal);
    });
    this.on("POST", /^\/messages\/abort$/, () => json({ success: true }));
    this.on("POST", /^\/_matrix\/client\/v3\/user\/[^/]+\/openid\/request_token$/, () =>
      json({
        access_token: "fake",
        token_type: "Bearer",
        matrix_server_name: "matrix.test",
        expires_in: 3600,
      }),
    );
  }

  /**
   * The network of a page whose only oracle this is.
   *
   * @internal
   */
  readonly network: Network = {
    fetch: (input, init) => this.fetch(input, init),
    connect: (url, options) => this.#connect(url, options),
  };

  /** From now on every message and history is answered with 402 and these claims; none ends it. */
  requirePayment(...claims: string[]): this {
    this.#claims = claims.length > 0 ? claims : undefined;
    return this;
  }

  /** Answers the next message with a stream that the test writes itself. */
  stream(): Promise<FakeStream> {
    return new Promise((resolve) => this.#writers.push(resolve));
  }

  /** Emits an event to every connected page. */
  emit<Name extends OracleEventName>(
    eventName: Name,
    payload: Partial<OracleEventPayloads[Name]>,
  ): void {
    for (const socket of this.#open()) {
      const whole = { sessionId: socket.options.query["sessionId"], requestId: "", ...payload };
      socket.say(eventName, { ...whole, eventName, payload: whole });
    }
  }

  /** Calls a browser tool of the page that connected last. */
  callTool(toolName: string, args: Record<string, unknown> = {}): Promise<FakeCallResult> {
    return this.#call("browser_tool_call", "tool_result", toolName, args);
  }

  /** Calls an action of the page that connected last. */
  callAction(toolName: string, args: Record<string, unknown> = {}): Promise<FakeCallResult> {
    return this.#call("action_call", "action_call_result", toolName, args);
  }

  #call(event: string, reply: string, toolName: string, args: Record<string, unknown>) {
    const socket = this.#open().at(-1);
    if (!socket) return Promise.reject(new Error("No page is connected to the fake oracle"));
    const toolCallId = this.#id("call");
    return new Promise<FakeCallResult>((resolve) => {
      const before = socket.heard;
      socket.heard = (name, payload) => {
        before(name, payload);
        const result = payload as FakeCallResult | undefined;
        if (name === reply && result?.toolCallId === toolCallId) resolve(result);
      };
      socket.say(event, {
        sessionId: socket.options.query["sessionId"],
        requestId: "",
        toolCallId,
        toolName,
        args,
      });
    });
  }

  #open(): FakeSocket[] {
    return this.sockets.filter((socket) => !socket.closed);
  }

  #connect(url: string, options: ConstructorParameters<typeof FakeSocket>[1]): FakeSocket {
    const socket = new FakeSocket(url, options);
    this.sockets.push(socket);
    options.auth(() => {
      if (socket.closed) return;
      socket.line("connect");
      const sessionId = options.query["sessionId"];
      socket.say("connected", { message: "Connected successfully", sessionId, timestamp: now() });
    });
    return socket;
  }

  #question(content: string): StoredMessage {
    return { id: this.#id("m"), type: "human", content, isComplete: true, createdAt: now() };
  }

  /** Answers a question, which may stand in the place of another one. */
  async #turn(
    sessionId: string,
    question: StoredMessage,
    request: SeenRequest,
    signal: AbortSignal | undefined,
    old?: StoredMessage,
  ): Promise<Response> {
    if (this.#claims) return this.#unpaid(this.#claims);
    const remember = () =>
      old ? this.#versions.branch(sessionId, old, question) : this.#remember(sessionId, question);
    const stream = new FakeStream(signal);
    const write = this.#writers.shift();
    if (write) {
      remember();
      write(stream);
      return stream.response({ "X-Request-Id": this.#id("request") });
    }
    const said = await this.respond(question.content, request);
    const reply = typeof said === "string" ? { text: said } : said;
    const runId = this.#id("run");
    const text = reply.text ?? "";
    const frames: [event: string, data: unknown][] = [["run", { runId, status: "running" }]];
    if (reply.reasoning) {
      frames.push(["reasoning", { reasoning: reply.reasoning, isComplete: false }]);
      frames.push(["reasoning", { reasoning: "", isComplete: true }]);
    }
    for (const content of text.split(/(?<=\s)/)) frames.push(["message", { content }]);
    const { error, retryable } = reply;
    if (error) frames.push(["error", { error, message: error, retryable }]);
    frames.push(["done", { status: error ? "failed" : "finished" }]);
    frames.forEach(([event, data], i) => stream.frame(i + 1, event, data));
    stream.end();
    remember();
    this.#remember(sessionId, { id: this.#id("m"), type: "ai", content: text });
    return stream.response({ "X-Request-Id": this.#id("request"), "X-Run-Id": runId });
  }

  #remember(sessionId: string, message: StoredMessage): void {
    const known = this.history.get(sessionId) ?? [];
    this.history.set(sessionId, [...known, { isComplete: true, createdAt: now(), ...message }]);
  }

  #unpaid(claims: string[]): Response {
    const message = "Payment required";
    return json(
      { statusCode: 402, error: "Payment Required", message, claims, outstandingClaims: claims },
      402,
    );
  }

  #serveConfig(): void {
    this.on("GET", /^\/ixo\/entity\//, () =>
      json({
        entity: { id: this.did },
        iid_document: {
          service: [
            { id: "{id}#api", type: "oracleService", service_endpoint: this.url },
            { id: "{id}#ws", type: "wsService", service_endpoint: this.url },
          ],
        },
      }),
    );
  }

  #serveSessions(): void {
    this.on("GET", /^\/sessions(\?|$)/, ({ path }) => {
      const query = new URLSearchParams(path.split("?")[1]);
      const offset = Number(query.get("offset") ?? 0);
      const limit = Number(query.get("limit") ?? 20);
      const sessions = this.sessions.slice(offset, offset + limit);
      return json({ sessions, total: this.sessions.length });
    });
    this.on("POST", /^\/sessions$/, () => {
      const at = now();
      const session: IChatSession = {
        sessionId: this.#id("$session"),
        title: "",
        oracleName: "Fake",
        createdAt: at,
        lastUpdatedAt: at,
      };
      this.sessions = [session, ...this.sessions];
      return json(session, 201);
    });
    this.on("DELETE", /^\/sessions\/[^/]+$/, ({ path }) => {
      const sessionId = part({ path }, 2);
      const known = this.sessions.length;
      this.sessions = this.sessions.filter((s) => s.sessionId !== sessionId);
      if (this.sessions.length === known) {
        return json({ statusCode: 404, message: "Session not found", error: "Not Found" }, 404);
      }
      return json({ message: "Session deleted successfully" });
    });
    this.on("GET", /^\/sessions\/[^/]+\/messages/, ({ path }) => {
      if (this.#claims) return this.#unpaid(this.#claims);
      const messages = this.#versions.shown(part({ path }, 2));
      return json({ messages, prevCursor: null, hasOlder: false });
    });
    this.on("GET", /^\/sessions\/[^/]+\/run(\?|$)/, () => json({ run: null }));
  }

  #serveVersions(): void {
    this.on("POST", /^\/sessions\/[^/]+\/messages\/[^/]+\/versions$/, (request, signal) => {
      const sessionId = part(request, 2);
      const old = this.#versions.questionOf(sessionId, part(request, 4));
      if (!old) return json({ statusCode: 404, message: "There is no such message" }, 404);
      const { message } = request.body as { message?: string };
      return this.#turn(sessionId, this.#question(message ?? old.content), request, signal, old);
    });
    this.on("POST", /^\/sessions\/[^/]+\/messages\/[^/]+\/choose$/, (request) =>
      this.#versions.choose(part(request, 2), part(request, 4))
        ? json({ success: true })
        : json({ statusCode: 404, message: "There is no such version" }, 404),
    );
    for (const method of ["PUT", "DELETE"]) {
      this.on(method, /^\/sessions\/[^/]+\/messages\/[^/]+\/feedback$/, (request) => {
        this.#versions.rate(part(request, 4), request.body as IFeedback | undefined);
        return json({ success: true });
      });
    }
  }

  #serveMemory(): void {
    this.on("GET", /^\/memory(\?|$)/, ({ path }) => {
      const query = new URLSearchParams(path.split("?")[1]).get("q") ?? "";
      return json({ memories: this.memories.filter((m) => m.text.includes(query)) });
    });
    this.on("POST", /^\/memory$/, ({ body }) => {
      const { text } = body as { text: string };
      const memory = { id: this.#id("memory"), text, createdAt: now() };
      this.memories = [...this.memories, memory];
      return json(memory, 201);
    });
    this.on("DELETE", /^\/memory(\/[^/]+)?$/, ({ path }) => {
      const id = path.split("/")[2];
      this.memories = id ? this.memories.filter((m) => m.id !== decodeURIComponent(id)) : [];
      return json({ ok: true });
    });
  }

  #id(kind: string): string {
    return `${kind}-${++this.#count}`;
  }
}

/** A part of a request's path, counted from one. */
function part({ path }: { path: string }, at: number): string {
  return decodeURIComponent((path.split("?")[0] ?? "").split("/")[at] ?? "");
}

function now(): string {
  return new Date().toISOString();
}
