/** Reads something again, at most once at a time. */
export class Refresher {
  readonly #read: () => Promise<void>;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(read: () => Promise<void>) {
    this.#read = read;
  }

  /** The reading under way, if there is one. */
  get running(): Promise<void> | undefined {
    return this.#running;
  }

  /** Reads, or joins the reading under way. */
  now(): Promise<void> {
    this.#running ??= this.#read().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Reads what is there from now on: a reading under way may have missed it. */
  afresh(): Promise<void> {
    this.#next ??= Promise.resolve(this.#running).then(() => {
      this.#next = undefined;
      return this.now();
    });
    return this.#next;
  }
}
