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

/** Reads and writes what the oracle remembers, when it has a memory. */
export function useMemoryEngine(oracleDid: string, overrides?: OracleOverrides) {
  const { client } = useOraclesContext();
  const config = useOraclesConfig(oracleDid, overrides);
  const apiUrl = config.isReady ? config.apiUrl : null;
  const api = client.api(apiUrl ?? "", oracleDid);
  const list = useResource(apiUrl ? ["memory", apiUrl, oracleDid].join(" ") : null, () =>
    api.json<{ memories: IMemory[] }>("/memory"),
  );
  return {
    memories: list.data?.memories ?? [],
    isLoading: list.isLoading || config.isLoading,
    error: list.error ?? config.error,
    refetch: list.reload,
    search: (query: string) =>
      api
        .json<{ memories: IMemory[] }>(`/memory?q=${encodeURIComponent(query)}`)
        .then((r) => r.memories),
    remember: async (text: string) => {
      const made = await api.json<IMemory>("/memory", { method: "POST", body: { text } });
      await list.reload();
      return made;
    },
    forget: async (id?: string) => {
      await api.json(id ? `/memory/${encodeURIComponent(id)}` : "/memory", { method: "DELETE" });
      await list.reload();
    },
  };
}
