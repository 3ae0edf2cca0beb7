/** Something whose snapshot can be read and whose changes can be heard. */
export interface Observable<T> {
  get(): T;
  subscribe(listener: () => void): () => void;
}

/** A value with listeners. Setting an equal value tells nobody. */
export class Cell<T> implements Observable<T> {
  #value: T;
  readonly #listeners = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get = (): T => this.#value;

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of [...this.#listeners]) listener();
  }

  get watched(): boolean {
    return this.#listeners.size > 0;
  }
}
