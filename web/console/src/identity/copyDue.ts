/**
 * When the console asks for a copy of a key that is nowhere else: a day after it was made, when
 * there is something to lose, and then once a week. This browser remembers when.
 */
const slot = "castalia-copy-asked-next";

const day = 86_400_000;

export function askForCopyIn(days: number, now = Date.now()): void {
  localStorage.setItem(slot, String(now + days * day));
}

/** Whether it is time; a key of which nothing is known yet is asked for a day from now. */
export function isCopyDue(now = Date.now()): boolean {
  const next = Number(localStorage.getItem(slot));
  if (!(next > 0)) askForCopyIn(1, now);
  return next > 0 && now >= next;
}
