/** One event of a stream, as the standard defines it. */
export interface ServerSentEvent {
  event: string;
  data: string;
  id: string;
}

/**
 * Parses a stream of text as the standard says: any line ending, several data
 * lines, comments, a last event id that stays until it changes, and a byte
 * order mark at the start. An event that is cut off by the end is dropped.
 */
export class EventParser {
  #buffer = "";
  #started = false;
  #skipLF = false;
  #data: string[] = [];
  #event = "";
  #id = "";

  constructor(readonly emit: (event: ServerSentEvent) => void) {}

  push(chunk: string): void {
    if (!this.#started && chunk.length > 0) {
      this.#started = true;
      if (chunk.charCodeAt(0) === 0xfeff) chunk = chunk.slice(1);
    }
    if (this.#skipLF && chunk.length > 0) {
      this.#skipLF = false;
      if (chunk.startsWith("\n")) chunk = chunk.slice(1);
    }
    this.#buffer += chunk;
    let from = 0;
    for (;;) {
      const end = nextBreak(this.#buffer, from);
      if (end < 0) break;
      this.#line(this.#buffer.slice(from, end));
      from = end + 1;
      if (this.#buffer[end] === "\r") {
        if (from === this.#buffer.length) this.#skipLF = true;
        else if (this.#buffer[from] === "\n") from++;
      }
    }
    this.#buffer = this.#buffer.slice(from);
  }

  #line(line: string): void {
    if (line === "") {
      this.#dispatch();
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
  }

  #dispatch(): void {
    const data = this.#data;
    const event = this.#event;
    this.#data = [];
    this.#event = "";
    if (data.length === 0) return;
    this.emit({ event: event || "message", data: data.join("\n"), id: this.#id });
  }
}

function nextBreak(text: string, from: number): number {
  for (let i = from; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 10 || c === 13) return i;
  }
  return -1;
}

/** Reads a response body as events until it ends or the signal aborts. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const queue: ServerSentEvent[] = [];
  const parser = new EventParser((event) => queue.push(event));
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.push(decoder.decode(value, { stream: true }));
      while (queue.length > 0) yield queue.shift() as ServerSentEvent;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
