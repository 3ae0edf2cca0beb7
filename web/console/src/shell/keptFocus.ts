import { useEffect, useRef, type FocusEvent } from "react";

const control = "button:not(:disabled), a[href], input:not(:disabled)";

/**
 * For lists whose rows go away by a button in them: the row that takes the place
 * of the one that had the focus gets it, or the list itself when none is left.
 * Spread what it gives on the list, which needs tabIndex -1.
 */
export function useKeptFocus<T extends HTMLElement>() {
  const list = useRef<T>(null);
  const row = useRef(-1);
  const rows = () => [...(list.current?.querySelectorAll("tbody > tr, li") ?? [])];
  useEffect(() => {
    if (row.current < 0 || document.activeElement !== document.body) return;
    const all = rows();
    const next = all[Math.min(row.current, all.length - 1)];
    (next?.querySelector<HTMLElement>(control) ?? list.current)?.focus();
  });
  return {
    ref: list,
    tabIndex: -1,
    onFocus: (event: FocusEvent<T>) => {
      row.current = rows().findIndex((one) => one.contains(event.target));
    },
    // What leaves the page says nothing, or says it when it is already gone.
    onBlur: (event: FocusEvent<T>) => {
      if (event.target.isConnected) row.current = -1;
    },
  };
}
