import { useCallback, useEffect, useReducer, useRef } from "react";
import { asError } from "../core/errors";
import { useLatest } from "./latest";

export interface Resource<T> {
  data: T | undefined;
  error: Error | undefined;
  isLoading: boolean;
  reload: () => Promise<void>;
  /** Replaces the data without asking, as after a change of one's own. */
  update: (change: (data: T | undefined) => T | undefined) => void;
}

interface State<T> {
  key: string | null;
  data: T | undefined;
  error: Error | undefined;
  isLoading: boolean;
}

/** Loads something when its key is known and whenever the key changes. */
export function useResource<T>(key: string | null, load: () => Promise<T>): Resource<T> {
  const latest = useLatest(load);
  const [state, set] = useReducer(
    (old: State<T>, change: Partial<State<T>>): State<T> => ({ ...old, ...change }),
    { key: null, data: undefined, error: undefined, isLoading: true },
  );
  const turn = useRef(0);
  const reload = useCallback(async () => {
    const mine = ++turn.current;
    try {
      const data = await latest.current();
      if (turn.current === mine) set({ key, data, error: undefined, isLoading: false });
    } catch (cause) {
      if (turn.current === mine) set({ key, error: asError(cause), isLoading: false });
    }
  }, [key, latest]);
  useEffect(() => {
    if (key === null) return;
    set({ isLoading: true });
    void reload();
    const turns = turn;
    return () => {
      turns.current++; // what is under way comes too late
    };
  }, [key, reload]);
  const data = state.key === key ? state.data : undefined;
  const kept = useLatest(data);
  const update = useCallback<Resource<T>["update"]>(
    (change) => set({ key, data: change(kept.current), isLoading: false }),
    [key, kept],
  );
  const current = state.key === key;
  return {
    data,
    error: current ? state.error : undefined,
    isLoading: key !== null && (!current || state.isLoading),
    reload,
    update,
  };
}
