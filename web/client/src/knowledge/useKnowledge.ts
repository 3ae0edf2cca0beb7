import { useMemo } from "react";
import type { OracleOverrides } from "../core/config";
import { known } from "../files/bearer";
import { useOraclesContext } from "../react/context";
import { useOraclesConfig } from "../react/useOraclesConfig";
import { useResource } from "../react/useResource";
import type { IAnswer, IPassage, ISource } from "./types";

export interface UseKnowledgeOptions {
  oracleDid: string;
  overrides?: OracleOverrides;
}

/** What narrows a question down. */
export interface AskOptions {
  /** A hint, such as sw. */
  language?: string;
  /** Ids of collections. */
  collections?: string[];
  limit?: number;
}

export interface UseKnowledgeResult {
  /** The collections that the user may ask. */
  collections: { id: string; name: string }[];
  /** Asks the documents that the user may read. */
  ask: (question: string, options?: AskOptions) => Promise<IAnswer>;
  /** The passage of a source, and some before and after it (at most 3). */
  read: (source: ISource, around?: number) => Promise<IPassage[]>;
  isLoading: boolean;
  error: Error | undefined;
  refetch: () => Promise<void>;
}

const none: UseKnowledgeResult["collections"] = [];

/** Answers from the community's own documents, with their sources. */
export function useKnowledge(options: UseKnowledgeOptions): UseKnowledgeResult {
  const { client } = useOraclesContext();
  const { oracleDid } = options;
  const config = useOraclesConfig(oracleDid, options.overrides);
  const baseUrl = config.isReady ? config.apiUrl : null;
  const list = useResource(baseUrl && ["knowledge", baseUrl, oracleDid].join(" "), () =>
    client
      .api(baseUrl ?? "", oracleDid)
      .json<{ collections: UseKnowledgeResult["collections"] }>("/knowledge/collections"),
  );
  const acts = useMemo(() => {
    const api = () => client.api(known(baseUrl), oracleDid);
    const at = encodeURIComponent;
    return {
      ask: async (question: string, narrowed: AskOptions = {}) =>
        api().json<IAnswer>("/knowledge/search", {
          method: "POST",
          body: { query: question, ...narrowed },
        }),
      read: async ({ collection, document, number }: ISource, around = 0) => {
        const path = `/knowledge/passages/${at(collection)}/${at(document)}/${number}`;
        return (await api().json<{ passages: IPassage[] }>(`${path}?around=${around}`)).passages;
      },
    };
  }, [client, baseUrl, oracleDid]);
  return {
    ...acts,
    collections: list.data?.collections ?? none,
    isLoading: list.isLoading || config.isLoading,
    error: list.error ?? config.error,
    refetch: baseUrl ? list.refetch : config.refetch,
  };
}
