import type { CallOptions } from "./agent";
import { grace } from "./peer";

/** Where a tab keeps the call that it was in when its page went. */
const key = (oracleDid: string) => `castalia-call:${oracleDid}`;

/**
 * Remembers, for the next page of this tab, the call that goes on without it. It is
 * written when the page goes and taken by the next one, so that a tab that is made as a
 * copy of this one does not find it.
 */
export function rememberLeft(oracleDid: string, left: CallOptions): void {
  try {
    sessionStorage.setItem(key(oracleDid), JSON.stringify({ left, until: Date.now() + grace }));
  } catch {
    // A page without storage calls again.
  }
}

/** The call that this tab was in a moment ago, once. */
export function takeLeft(oracleDid: string): CallOptions | undefined {
  try {
    const text = sessionStorage.getItem(key(oracleDid));
    sessionStorage.removeItem(key(oracleDid));
    const kept = JSON.parse(text ?? "{}") as { left?: CallOptions; until?: number };
    return kept.until && kept.until > Date.now() ? kept.left : undefined;
  } catch {
    return undefined;
  }
}
