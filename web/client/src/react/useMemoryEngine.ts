import { useSyncExternalStore } from "react";
import type { OracleOverrides } from "../core/config";
import { useOraclesContext } from "./context";
import { useOraclesConfig } from "./useOraclesConfig";
import { useResource } from "./useResource";

/** Something that the oracle remembers of the user. */
export interface IMemory {
  id: string;
  text: string;
  createdAt?: string;
  [key: string]: unknown;
}

/**
 * Reads and writes what the oracle remembers, when it has a memory: the one that is
 * named, or else the one whose conversation was opened last below the provider.
 */
export function useMemoryEngine(oracleDid?: string, overrides?: OracleOverrides) {
  const { client } = useOraclesContext();
  const { subscribe, get } = client.spokenTo;
  const spokenTo = useSyncExternalStore(subscribe, get, get);
  const did = oracleDid ?? spokenTo?.oracleDid ?? "";
  const isWaiting = did === "";
  const config = useOraclesConfig(did, overrides ?? (oracleDid ? undefined : spokenTo));
  const apiUrl = config.isReady && !isWaiting ? config.apiUrl : null;
  const api = client.api(apiUrl ?? "", did);
  const list = useResource(apiUrl ? ["memory", apiUrl, did].join(" ") : null, () =>
    api.json<{ memories: IMemory[] }>("/memory"),
  );
  const ask = async <T>(path: string, method?: string, body?: unknown): Promise<T> => {
    if (isWaiting) throw new Error("No conversation with an oracle is open");
    if (apiUrl === null) throw config.error ?? new Error("The oracle is not found yet");
    return api.json<T>(path, {
      ...(method ? { method } : {}),
      ...(body === undefined ? {} : { body }),
    });
  };
  return {
    memories: list.data?.memories ?? [],
    isLoading: isWaiting || list.isLoading || config.isLoading,
    error: isWaiting ? undefined : (list.error ?? config.error),
    refetch: apiUrl ? list.refetch : config.refetch,
    search: (query: string) =>
      ask<{ memories: IMemory[] }>(`/memory?q=${encodeURIComponent(query)}`).then(
        (r) => r.memories,
      ),
    remember: async (text: string) => {
      const made = await ask<IMemory>("/memory", "POST", { text });
      await list.reload();
      return made;
    },
    forget: async (id?: string) => {
      await ask(id ? `/memory/${encodeURIComponent(id)}` : "/memory", "DELETE");
      await list.reload();
    },
  };
}
