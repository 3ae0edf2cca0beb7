/** Hears what is said on the line. */
export type Listener = (...args: unknown[]) => void;

/** Stands in for the socket client: records what is said and says what a test wants. */
export class FakeSocket {
  active = true;
  closed = false;
  readonly emitted: [string, ...unknown[]][] = [];
  readonly #listeners = new Map<string, Listener[]>();
  #any: Listener[] = [];

  constructor(
    readonly url: string,
    readonly options: {
      query: Record<string, string>;
      auth: (done: (auth: unknown) => void) => void;
    },
  ) {}

  on(name: string, listener: Listener): this {
    this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener]);
    return this;
  }

  off(name: string, listener: Listener): this {
    const rest = (this.#listeners.get(name) ?? []).filter((one) => one !== listener);
    this.#listeners.set(name, rest);
    return this;
  }

  onAny(listener: Listener): this {
    this.#any.push(listener);
    return this;
  }

  offAny(listener?: Listener): this {
    this.#any = listener ? this.#any.filter((one) => one !== listener) : [];
    return this;
  }

  /** Answers what is asked with an acknowledgement; silence unless a test says otherwise. */
  answer: (name: string, payload: unknown) => unknown = () => new Promise(() => undefined);

  async ask(name: string, payload: unknown): Promise<unknown> {
    this.emitted.push([name, payload]);
    return this.answer(name, payload);
  }

  emit(name: string, ...args: unknown[]): this {
    this.emitted.push([name, ...args]);
    this.heard(name, args[0]);
    return this;
  }

  /** Told of everything that the page says. */
  heard: (name: string, payload: unknown) => void = () => undefined;

  connects = 0;
  connect(): this {
    this.connects++;
    return this;
  }

  disconnect(): this {
    this.closed = true;
    return this;
  }

  /** Something that the line itself reports. */
  line(name: "connect" | "disconnect" | "connect_error", ...args: unknown[]): void {
    this.#listeners.get(name)?.forEach((listener) => listener(...args));
  }

  /** Something that the server says. */
  say(name: string, argument: unknown): void {
    this.#listeners.get(name)?.forEach((listener) => listener(argument));
    this.#any.forEach((listener) => listener(name, argument));
  }

  replies(name: string): unknown[] {
    return this.emitted.filter((e) => e[0] === name).map((e) => e[1]);
  }
}
