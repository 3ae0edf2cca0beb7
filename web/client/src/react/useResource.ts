import { useCallback, useEffect, useSyncExternalStore } from "react";
import type { Load, Loaded } from "../core/resource";
import { useOraclesContext } from "./context";
import { useLatest } from "./latest";

const never = () => () => undefined;
const unknown: Loaded<never> = { data: undefined, error: undefined, isLoading: false };
const getUnknown = () => unknown;

/** Something of the oracle under a key: read when the key is known, once for all who show it. */
export function useResource<T>(key: string | null, load: Load<T>) {
  const { client } = useOraclesContext();
  const latest = useLatest(load);
  const shared = key === null ? undefined : client.resource<T>(key);
  const read = shared?.state.get ?? getUnknown;
  const state = useSyncExternalStore<Loaded<T>>(shared?.state.subscribe ?? never, read, read);
  useEffect(() => shared?.use((before) => latest.current(before)), [shared, latest]);
  const reload = useCallback(
    () => shared?.reload((before) => latest.current(before)) ?? Promise.resolve(),
    [shared, latest],
  );
  /** For who wants it read again: a wallet that refused is asked once more. */
  const refetch = useCallback(() => {
    client.credentials.askAgain();
    return reload();
  }, [client, reload]);
  const update = useCallback(
    (change: (data: T | undefined) => T | undefined) => shared?.update(change),
    [shared],
  );
  return { ...state, reload, refetch, update };
}
