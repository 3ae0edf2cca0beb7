import { useEffect } from "react";

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
 * Follows what is typed: feed a key and get the shortcut that it completes.
 * The first key of a pair waits a moment for the second.
 */
export function matcher(now: () => number = Date.now) {
  let first = "";
  let since = 0;
  return (key: string, shortcuts: readonly Shortcut[]): Shortcut | undefined => {
    const pair = first && now() - since < patience ? `${first} ${key}` : "";
    const found = shortcuts.find((s) => s.keys === pair) ?? shortcuts.find((s) => s.keys === key);
    first = !found && shortcuts.some((s) => s.keys.startsWith(`${key} `)) ? key : "";
    since = now();
    return found;
  };
}

export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  useEffect(() => {
    const match = matcher();
    function onKey(event: KeyboardEvent) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      if (isWriting(event.target) || document.querySelector("dialog[open]")) return;
      const found = match(event.key, shortcuts);
      if (!found) return;
      event.preventDefault();
      found.run();
    }
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [shortcuts]);
}
