import { useCallback, useState } from "react";
import { asError } from "../core/errors";

/** Something that the user starts and that may fail. */
export function useTask() {
  const [state, set] = useState<{ running: boolean; error: Error | undefined }>({
    running: false,
    error: undefined,
  });
  const run = useCallback(async <T>(work: () => Promise<T>): Promise<T> => {
    set({ running: true, error: undefined });
    try {
      const result = await work();
      set({ running: false, error: undefined });
      return result;
    } catch (cause) {
      set({ running: false, error: asError(cause) });
      throw cause;
    }
  }, []);
  return { ...state, run };
}
