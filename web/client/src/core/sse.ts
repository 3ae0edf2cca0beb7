/** How much text may wait for its line to end: far more than any frame, far less than memory. */
const maxPending = 16 * 1024 * 1024;

/** One event of a stream, as the standard defines it. */
export interface ServerSentEvent {
  event: string;
  data: string;
  id: string;
}

/**
 * Parses a stream of text as the standard says: any line ending, several data
 * lines, comments, a last event id that stays until it changes, and a byte
 * order mark at the start. An event that is cut off by the end is dropped; an
 * event without an end is refused.
 */
export class EventParser {
  #buffer = "";
  #size = 0;
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
    // What waited was searched before: a long line costs its length, not its square.
    let search = this.#buffer.length;
    this.#buffer += chunk;
    let from = 0;
    for (;;) {
      const end = nextBreak(this.#buffer, Math.max(from, search));
      if (end < 0) break;
      this.#line(this.#buffer.slice(from, end));
      from = end + 1;
      if (this.#buffer[end] === "\r") {
        if (from === this.#buffer.length) this.#skipLF = true;
        else if (this.#buffer[from] === "\n") from++;
      }
      search = from;
    }
    this.#buffer = this.#buffer.slice(from);
    if (this.#size + this.#buffer.length > maxPending) throw new Error("An event is too long");
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
    if (field === "data") {
      this.#data.push(value);
      this.#size += value.length + 1;
    } else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
  }

  #dispatch(): void {
    const data = this.#data;
    const event = this.#event;
    this.#data = [];
    this.#size = 0;
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

/** How often a line that may not be silent is looked at, and how often in vain before it counts as dead. */
const look = 15_000;
const inVain = 3;

/** How many events are read before the page may do something else: those of a few milliseconds. */
const atOnce = 100;

/** Lets the page draw and answer its reader. A timer would wait, in a hidden page for a second. */
function letOthersWork(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

/**
 * Reads a response body as events until it ends, never many of them in one task. One that is known to be alive
 * by its comments also ends when it has been silent for a minute: a network that
 * went away without a word would be listened to for ever.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  alive = false,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const queue: ServerSentEvent[] = [];
  const parser = new EventParser((event) => queue.push(event));
  // The parser takes the byte order mark away, and only one.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const reader = body.getReader();
  const leave = () => reader.cancel().catch(() => undefined);
  let silent = 0;
  let read = 0;
  const watch = setInterval(() => {
    if (alive && silent++ >= inVain) void leave();
  }, look);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      silent = 0;
      parser.push(decoder.decode(value, { stream: true }));
      while (queue.length > 0) {
        yield queue.shift() as ServerSentEvent;
        if (++read % atOnce === 0) await letOthersWork();
      }
    }
  } finally {
    clearInterval(watch);
    await leave();
  }
}
