/** Hears what is said on a line. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- what is said differs by name
export type Hear = (...args: any[]) => void;

export interface LineOptions {
  query: Record<string, string>;
  /** Says who is calling; asked on every attempt. */
  auth: (done: (auth: Record<string, string>) => void) => void;
}

/** A line to a server that speaks socket.io. */
export interface Line {
  /** Whether it tries to connect by itself: not after a refusal. */
  readonly active: boolean;
  on(name: string, hear: Hear): unknown;
  off(name: string, hear: Hear): unknown;
  onAny(hear: Hear): unknown;
  /** Without a listener all of them leave. */
  offAny(hear?: Hear): unknown;
  /** Says something; what is said while the line is down goes out when it is up. */
  emit(name: string, ...args: unknown[]): unknown;
  /** Says something and waits so many milliseconds for the answer. */
  ask(name: string, payload: unknown, patience: number): Promise<unknown>;
  connect(): unknown;
  disconnect(): unknown;
}

/** Opens a line. */
export type Connect = (url: string, options: LineOptions) => Line;

/** How long a server may take to greet, and how much may wait for a line. */
const greeting = 20_000;
const mostWaiting = 1000;

interface Asked {
  packet: string;
  answer(value: unknown): void;
  fail(cause: Error): void;
}

/**
 * Speaks Engine.IO 4 and Socket.IO 5 over one WebSocket, as far as oracles do:
 * JSON on the main namespace. A line that breaks is dialled again, more and more
 * seldom; one that the server refuses or ends is not.
 */
class WebSocketLine implements Line {
  active = false;
  readonly #address: string;
  readonly #auth: LineOptions["auth"];
  readonly #named = new Map<string, Set<Hear>>();
  readonly #any = new Set<Hear>();
  readonly #asked = new Map<number, Asked>();
  #waiting: string[] = [];
  #socket: WebSocket | undefined;
  #isUp = false;
  #failures = 0;
  #count = 0;
  /** How long the line may be silent. */
  #patience = greeting;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(url: string, { query, auth }: LineOptions) {
    const { protocol, host } = new URL(url, globalThis.location?.href);
    const asked = new URLSearchParams({ ...query, EIO: "4", transport: "websocket" });
    this.#address = `${protocol.replace("http", "ws")}//${host}/socket.io/?${asked}`;
    this.#auth = auth;
    this.connect();
  }

  on(name: string, hear: Hear): void {
    this.#named.set(name, (this.#named.get(name) ?? new Set()).add(hear));
  }

  off(name: string, hear: Hear): void {
    this.#named.get(name)?.delete(hear);
  }

  onAny(hear: Hear): void {
    this.#any.add(hear);
  }

  offAny(hear?: Hear): void {
    if (hear) this.#any.delete(hear);
    else this.#any.clear();
  }

  emit(name: string, ...args: unknown[]): void {
    this.#say(`42${JSON.stringify([name, ...args])}`);
  }

  ask(name: string, payload: unknown, patience: number): Promise<unknown> {
    const id = this.#count++;
    const packet = `42${id}${JSON.stringify([name, payload])}`;
    return new Promise((answer, fail) => {
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((one) => one !== packet);
        settle(() => fail(new Error("Nobody answered in time")));
      }, patience);
      const settle = (how: () => void) => {
        clearTimeout(timer);
        this.#asked.delete(id);
        how();
      };
      this.#asked.set(id, {
        packet,
        answer: (value) => settle(() => answer(value)),
        fail: (cause) => settle(() => fail(cause)),
      });
      this.#say(packet);
    });
  }

  connect(): void {
    if (this.active) return;
    this.active = true;
    globalThis.addEventListener?.("offline", this.#offline);
    globalThis.addEventListener?.("online", this.#online);
    this.#dial();
  }

  disconnect(): void {
    if (this.#isUp) this.#socket?.send("41");
    this.#rest();
    this.#hangUp("io client disconnect");
  }

  readonly #offline = () => {
    if (this.#socket) this.#lost();
  };

  readonly #online = () => {
    if (!this.#socket) this.#dial();
  };

  #dial(): void {
    const socket = (this.#socket = new WebSocket(this.#address));
    this.#watch(greeting);
    socket.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (this.#socket === socket && typeof data === "string") this.#take(data, socket);
    };
    socket.onclose = () => {
      if (this.#socket === socket) this.#lost();
    };
  }

  /** A line on which nothing is heard for too long is dead. */
  #watch(patience: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#lost(), patience);
  }

  #take(packet: string, socket: WebSocket): void {
    this.#watch(this.#patience);
    if (packet === "2") socket.send("3");
    else if (packet.startsWith("0")) {
      const { pingInterval, pingTimeout } = (parse(packet.slice(1)) ?? {}) as Record<
        string,
        number
      >;
      this.#patience = Number(pingInterval) + Number(pingTimeout) || greeting;
      this.#auth((auth) => {
        if (this.#socket === socket) socket.send(`40${JSON.stringify(auth)}`);
      });
    } else {
      const [, kind, id = "", text = ""] = /^4([0-4])(\d*)(.*)$/s.exec(packet) ?? [];
      const said = parse(text);
      if (kind === "0") this.#up(socket);
      else if (kind === "1") this.#refused("disconnect", "io server disconnect");
      else if (kind === "4") {
        const { message } = (said ?? {}) as { message?: string };
        this.#refused("connect_error", new Error(message));
      } else if (kind && Array.isArray(said)) {
        if (kind === "3") this.#asked.get(Number(id))?.answer(said[0]);
        else this.#heard(said[0] as string, said.slice(1));
      }
    }
  }

  #up(socket: WebSocket): void {
    this.#isUp = true;
    this.#failures = 0;
    for (const packet of this.#waiting.splice(0)) socket.send(packet);
    this.#tell("connect");
  }

  #heard(name: string, args: unknown[]): void {
    for (const hear of [...this.#any]) hear(name, ...args);
    this.#tell(name, ...args);
  }

  #tell(name: string, ...args: unknown[]): void {
    for (const hear of [...(this.#named.get(name) ?? [])]) hear(...args);
  }

  #say(packet: string): void {
    if (this.#isUp) this.#socket?.send(packet);
    else if (this.#waiting.length < mostWaiting) this.#waiting.push(packet);
  }

  /** The line broke: it is dialled again. */
  #lost(): void {
    const wait = Math.min(1000 * 2 ** this.#failures++, 5000) * (0.5 + Math.random());
    if (!this.#hangUp("transport close")) this.#tell("connect_error", new Error("No connection"));
    if (this.active) this.#timer = setTimeout(this.#online, wait);
  }

  /** The server does not want this page: who uses the line decides what is next. */
  #refused(name: string, why: unknown): void {
    this.#rest();
    this.#isUp = false;
    this.#hangUp("");
    this.#tell(name, why);
  }

  #rest(): void {
    this.active = false;
    globalThis.removeEventListener?.("offline", this.#offline);
    globalThis.removeEventListener?.("online", this.#online);
  }

  /** Lets go of the connection. Reports whether it was up. */
  #hangUp(reason: string): boolean {
    const wasUp = this.#isUp;
    const socket = this.#socket;
    this.#socket = undefined;
    this.#isUp = false;
    clearTimeout(this.#timer);
    socket?.close();
    // Who asked on this line gets no answer on the next.
    for (const asked of [...this.#asked.values()]) {
      if (!this.#waiting.includes(asked.packet)) asked.fail(new Error("The connection is lost"));
    }
    if (wasUp) this.#tell("disconnect", reason);
    return wasUp;
  }
}

/** What a packet says; undefined when it is no JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const openLine: Connect = (url, options) => new WebSocketLine(url, options);
