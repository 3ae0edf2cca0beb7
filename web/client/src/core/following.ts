/** The line by which a turn is followed: what can be waited for, and let go. */
export class Following {
  readonly #abort = new AbortController();
  readonly signal = this.#abort.signal;
  /** Settles when its stream is followed no more. Until it has one, that is the one's before it. */
  followed: Promise<unknown>;
  /** Settles when its message was taken or refused: when answer is called. */
  readonly answered: Promise<void>;
  answer: () => void = () => undefined;

  constructor(
    /** The turn, as the model counts them. */
    readonly turn: number,
    before: Following | undefined,
    isSent: boolean,
  ) {
    this.followed = before?.followed ?? Promise.resolve();
    this.answered = isSent ? new Promise((resolve) => (this.answer = resolve)) : Promise.resolve();
  }

  stop(): void {
    this.#abort.abort();
  }
}
