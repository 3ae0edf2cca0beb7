import { Again, mayPass } from "./again";
import { asError } from "./errors";
import { Cell } from "./observable";

export interface Loaded<T> {
  data: T | undefined;
  error: Error | undefined;
  isLoading: boolean;
}

/** Reads it; what was known before says how much of it was. */
export type Load<T> = (before: T | undefined) => Promise<T>;

/**
 * Something that is read from the oracle, once for all who show it. Who comes
 * when nobody is there reads it anew, and sees the old meanwhile. What fails for
 * want of a line or a server is read again while anybody shows it.
 */
export class Resource<T> {
  readonly state = new Cell<Loaded<T>>({ data: undefined, error: undefined, isLoading: true });
  #users = 0;
  #turn = 0;
  #isReading = false;
  #isOutdated = false;
  readonly #again = new Again();

  /** Whether anybody shows it. */
  get isUsed(): boolean {
    return this.#users > 0;
  }

  /** Joins those who show it. Call what is returned when done. */
  use(load: Load<T>): () => void {
    // StrictMode leaves and comes back at once: what is being read is not read again.
    if (this.#users++ === 0 && !this.#isReading) void this.reload(load);
    return () => {
      if (--this.#users === 0) this.#again.cancel();
    };
  }

  async reload(load: Load<T>): Promise<void> {
    const mine = ++this.#turn;
    this.#isReading = true;
    this.#isOutdated = false;
    this.#again.cancel();
    const [data, error] = await load(this.state.get().data).then(
      (data) => [data, undefined] as const,
      (cause: unknown) => [this.state.get().data, asError(cause)] as const,
    );
    // What was asked for before a change comes too late.
    if (this.#turn !== mine) return;
    // It may have been read before the change, and would undo it.
    if (this.#isOutdated && !error) return this.reload(load);
    this.#isReading = false;
    this.state.set({ data, error, isLoading: false });
    if (!error) this.#again.reset();
    else if (this.isUsed && mayPass(error)) this.#again.later(() => void this.reload(load));
  }

  /** Replaces the data without asking, as after a change of one's own. What is being read is read again. */
  update(change: (data: T | undefined) => T | undefined): void {
    const { data, error } = this.state.get();
    this.#isOutdated = true;
    this.state.set({ data: change(data), error, isLoading: false });
  }
}
