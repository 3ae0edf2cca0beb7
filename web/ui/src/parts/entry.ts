/** Marks where messages are written. */
export const entryMark = { "data-castalia-entry": "" };

/** Puts the focus where the next message is written: what was pressed is gone. */
export function focusEntry(): void {
  document.querySelector<HTMLElement>("[data-castalia-entry]")?.focus({ preventScroll: true });
}
