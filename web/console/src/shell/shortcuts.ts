import { useEffect, useRef } from "react";

/** Keys that work wherever no text is being written. */
export interface Shortcut {
  /** One key, or two in a row such as "g f". */
  keys: string;
  does: string;
  run: () => void;
}

const patience = 1200;

/** Whether keys are text there. A box that is ticked takes none but the space. */
function isWriting(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return !/^(checkbox|radio|button)$/.test(target.type);
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/**
 * Follows what is typed: feed a key, and when it was pressed, and get the shortcut that it
 * completes. The first key of a pair waits a moment for the second.
 */
export function matcher() {
  let first = "";
  let since = 0;
  return (key: string, at: number, shortcuts: readonly Shortcut[]): Shortcut | undefined => {
    const pair = first && at - since < patience ? `${first} ${key}` : "";
    const found = shortcuts.find((s) => s.keys === pair) ?? shortcuts.find((s) => s.keys === key);
    first = !found && shortcuts.some((s) => s.keys.startsWith(`${key} `)) ? key : "";
    since = at;
    return found;
  };
}

/**
 * Runs what is typed. A first key waits for its second one while the shortcuts change, and by
 * the time at which both were pressed: a page that is busy handles them later.
 */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const typed = useRef<ReturnType<typeof matcher>>(undefined);
  useEffect(() => {
    const match = (typed.current ??= matcher());
    function onKey(event: KeyboardEvent) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (isWriting(event.target) || document.querySelector("dialog[open]")) return;
      const found = match(event.key, event.timeStamp, shortcuts);
      if (!found) return;
      event.preventDefault();
      found.run();
    }
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [shortcuts]);
}
