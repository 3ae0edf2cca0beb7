import { useInsertionEffect, useRef, type RefObject } from "react";

/** A ref that always holds what the last render gave: no stale callbacks. */
export function useLatest<T>(value: T): RefObject<T> {
  const ref = useRef(value);
  useInsertionEffect(() => {
    ref.current = value;
  });
  return ref;
}
