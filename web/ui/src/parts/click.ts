import type { MouseEvent } from "react";

/** A click that opens here; with a key or another button the browser opens it elsewhere. */
export function isPlainClick(event: MouseEvent): boolean {
  return !event.metaKey && !event.ctrlKey && !event.shiftKey && event.button === 0;
}
