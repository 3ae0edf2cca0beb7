import { RequestError, TurnError } from "./errors";

/** Whether asking again may help: the line broke, or the server was not well. */
export function mayPass(cause: unknown): boolean {
  if (cause instanceof RequestError) {
    return cause.status >= 500 || cause.status === 408 || cause.status === 429;
  }
  // A TypeError is what fetch says of a line; a wallet may have one of its own.
  return [cause, cause instanceof Error && cause.cause].some((one) => one instanceof TypeError);
}

/**
 * Whether it may help that somebody tries again: not where the oracle has judged. A wallet that
 * refused may say yes, and a turn that was in the way may be over.
 */
export function isWorthTrying(cause: unknown): boolean {
  if (cause instanceof TurnError) return cause.retryable !== false;
  return !(cause instanceof RequestError) || cause.status === 409 || mayPass(cause);
}

const first = 1000;
const longest = 30_000;

/** Says when to try again: more and more seldom, and at once when the page or its line is back. */
export class Again {
  #failures = 0;
  #forget: () => void = () => undefined;

  /** Something failed: calls once, when it is worth another attempt. */
  later(attempt: () => void): void {
    this.#forget();
    const wait = Math.min(first * 2 ** this.#failures++, longest);
    const timer = setTimeout(go, wait * (0.75 + Math.random() / 2));
    const wakes = ["online", "focus"];
    this.#forget = () => {
      clearTimeout(timer);
      for (const wake of wakes) globalThis.removeEventListener?.(wake, go);
    };
    for (const wake of wakes) globalThis.addEventListener?.(wake, go);
    const forget = this.#forget;
    function go() {
      forget();
      attempt();
    }
  }

  /** It is being tried, or nobody wants it any more. */
  cancel(): void {
    this.#forget();
  }

  /** It worked. */
  reset(): void {
    this.#failures = 0;
    this.#forget();
  }
}
