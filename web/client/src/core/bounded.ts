interface Keyed<K> {
  readonly size: number;
  keys(): Iterable<K>;
  delete(key: K): boolean;
}

/** Drops the oldest entries beyond the limit, but for those that are still needed. */
export function dropOldest<K>(
  entries: Keyed<K>,
  limit: number,
  isNeeded: (key: K) => boolean = () => false,
): void {
  if (entries.size <= limit) return;
  for (const key of [...entries.keys()]) {
    if (entries.size <= limit) return;
    if (!isNeeded(key)) entries.delete(key);
  }
}
