import { OracleApi } from "../core/api";
import { CredentialKeeper } from "../core/credentials";
import type { IRun, StoredMessage } from "../core/types";

/** One request as the fake oracle saw it. */
export interface Seen {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: unknown;
}

type Answer = (request: Seen, signal: AbortSignal | undefined) => Response | Promise<Response>;

/** A stream that a test writes frame by frame, and may cut. */
export class Stream {
  readonly #bytes: ReadableStream<Uint8Array>;
  #controller!: ReadableStreamDefaultController<Uint8Array>;

  constructor(signal?: AbortSignal) {
    this.#bytes = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
    });
    signal?.addEventListener("abort", () => this.cut());
  }

  frame(id: number | undefined, event: string, data: unknown = {}): this {
    const number = id === undefined ? "" : `id: ${id}\n`;
    return this.raw(`event: ${event}\n${number}data: ${JSON.stringify(data)}\n\n`);
  }

  raw(text: string): this {
    this.#controller.enqueue(new TextEncoder().encode(text));
    return this;
  }

  end(): void {
    this.#controller.close();
  }

  cut(): void {
    try {
      this.#controller.error(new TypeError("the line broke"));
    } catch {
      // It was over already.
    }
  }

  response(headers: Record<string, string> = {}): Response {
    return new Response(this.#bytes, {
      headers: { "Content-Type": "text/event-stream", ...headers },
    });
  }
}

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers });
}

/** An oracle that lives in the test: a history, a run and whatever a test adds. */
export class FakeOracle {
  readonly seen: Seen[] = [];
  readonly streams: Stream[] = [];
  history: StoredMessage[] = [];
  run: IRun | null = null;
  readonly #answers: { method: string; path: RegExp; answer: Answer }[] = [];

  on(method: string, path: RegExp, answer: Answer): this {
    this.#answers.unshift({ method, path, answer });
    return this;
  }

  /** Answers every message with a stream that the test writes. */
  streaming(runId?: string): this {
    return this.on("POST", /^\/messages\/(?!abort$)[^/]+$/, (_, signal) => {
      const stream = new Stream(signal);
      this.streams.push(stream);
      return stream.response({
        "X-Request-Id": `r-${this.streams.length}`,
        ...(runId ? { "X-Run-Id": runId } : {}),
      });
    });
  }

  stream(at = -1): Stream {
    const stream = this.streams.at(at);
    if (!stream) throw new Error("no stream was opened");
    return stream;
  }

  requests(method: string, path: RegExp): Seen[] {
    return this.seen.filter((s) => s.method === method && path.test(s.path));
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const url = new URL(String(input), "http://oracle.test");
    const request: Seen = {
      method: init?.method ?? "GET",
      path: url.pathname + url.search,
      headers: { ...(init?.headers as Record<string, string> | undefined) },
      body: typeof init?.body === "string" ? JSON.parse(init.body) : undefined,
    };
    this.seen.push(request);
    const signal = init?.signal ?? undefined;
    signal?.throwIfAborted();
    const found = this.#answers.find(
      (a) => a.method === request.method && a.path.test(request.path),
    );
    if (found) return found.answer(request, signal);
    if (/^\/sessions\/[^/]+\/messages/.test(request.path)) {
      return json({ messages: this.history, prevCursor: null, hasOlder: false });
    }
    if (/^\/sessions\/[^/]+\/run$/.test(request.path)) return json({ run: this.run });
    if (request.path === "/messages/abort") return json({ success: true });
    return json({ statusCode: 404, message: `Cannot ${request.method} ${request.path}` }, 404);
  };

  api(keeper = keeperOf({})): OracleApi {
    return new OracleApi("http://oracle.test", "did:oracle", keeper, this.fetch);
  }
}

/** A keeper that mints without a wallet and keeps nothing between pages. */
export function keeperOf(
  mints: ConstructorParameters<typeof CredentialKeeper>[1],
  storage: ConstructorParameters<typeof CredentialKeeper>[2] = memoryStorage(),
): CredentialKeeper {
  return new CredentialKeeper("did:user", mints, storage);
}

export function memoryStorage() {
  const items = new Map<string, string>();
  return {
    items,
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
  };
}

/** Waits until something holds, one task at a time: no clock is read. */
export async function until(holds: () => boolean, tries = 500): Promise<void> {
  for (let i = 0; i < tries; i++) {
    if (holds()) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  throw new Error("it never came true");
}
