/**
 * Hands over what a promise gives, or why it gave nothing, unless the asker is gone by then: an
 * answer about the last folder is nothing to the next one. Effects return what this returns.
 */
export function unlessGone<T>(
  promise: Promise<T>,
  got: (value: T) => void,
  failed: (cause: unknown) => void,
): () => void {
  let gone = false;
  promise.then(
    (value) => {
      if (!gone) got(value);
    },
    (cause: unknown) => {
      if (!gone) failed(cause);
    },
  );
  return () => {
    gone = true;
  };
}
