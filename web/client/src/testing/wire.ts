/** One request as the fake oracle saw it. */
export interface SeenRequest {
  method: string;
  /** Path and query. */
  path: string;
  headers: Record<string, string>;
  body: unknown;
}

/** What a test answers to a request. */
export type Answer = (
  request: SeenRequest,
  signal: AbortSignal | undefined,
) => Response | Promise<Response>;

/** A stream that a test writes frame by frame, and may cut. */
export class FakeStream {
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

  /** Writes one frame; an id makes the stream resumable. */
  frame(id: number | undefined, event: string, data: unknown = {}): this {
    const number = id === undefined ? "" : `id: ${id}\n`;
    return this.raw(`event: ${event}\n${number}data: ${JSON.stringify(data)}\n\n`);
  }

  /** Writes bytes as they are. */
  raw(text: string): this {
    this.#controller.enqueue(new TextEncoder().encode(text));
    return this;
  }

  /** Ends the response. */
  end(): void {
    this.#controller.close();
  }

  /** Breaks the line in the middle. */
  cut(): void {
    try {
      this.#controller.error(new TypeError("the line broke"));
    } catch {
      // It was over already.
    }
  }

  /** The response that carries the stream. */
  response(headers: Record<string, string> = {}): Response {
    return new Response(this.#bytes, {
      headers: { "Content-Type": "text/event-stream", ...headers },
    });
  }
}

/** A JSON answer. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers });
}

/** Takes requests instead of a network: what nobody answers is a 404, as oracles say it. */
export class FakeNetwork {
  readonly seen: SeenRequest[] = [];
  readonly #answers: { method: string; path: RegExp; answer: Answer }[] = [];

  /** Answers a route; the newest answer that fits wins. */
  on(method: string, path: RegExp, answer: Answer): this {
    this.#answers.unshift({ method, path, answer });
    return this;
  }

  /** The requests that were made to a route. */
  requests(method: string, path: RegExp): SeenRequest[] {
    return this.seen.filter((s) => s.method === method && path.test(s.path));
  }

  readonly fetch: typeof fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : String(input), "http://oracle.test");
    const request: SeenRequest = {
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
    return json({ statusCode: 404, message: `Cannot ${request.method} ${request.path}` }, 404);
  };
}
