export type StreamingMode = "batched" | "immediate";

/** How often streamed text reaches the page in batched mode. */
const batchInterval = 100;

/**
 * Decides when streamed text reaches the page: immediate, at most once a frame;
 * batched, ten times a second. A hidden page has no frames, so a timer stands in.
 */
export class Flusher {
  #cancel: (() => void) | undefined;

  constructor(
    readonly flush: () => void,
    readonly mode: () => StreamingMode,
  ) {}

  /** Something changed: flush soon. */
  touch(): void {
    if (this.#cancel) return;
    const run = () => {
      this.#cancel = undefined;
      this.flush();
    };
    const hidden = typeof document !== "undefined" && document.visibilityState === "hidden";
    if (this.mode() === "immediate" && typeof requestAnimationFrame === "function" && !hidden) {
      const handle = requestAnimationFrame(run);
      this.#cancel = () => cancelAnimationFrame(handle);
    } else {
      const handle = setTimeout(run, this.mode() === "immediate" ? 16 : batchInterval);
      this.#cancel = () => clearTimeout(handle);
    }
  }

  /** Flush at once, as at the end of a turn. */
  now(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.flush();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
