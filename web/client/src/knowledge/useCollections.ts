import { useEffect, useMemo } from "react";
import type { OracleOverrides } from "../core/config";
import { askFiles, known, type FileToken } from "../files/bearer";
import { useOraclesContext } from "../react/context";
import { useLatest } from "../react/latest";
import { useOraclesConfig } from "../react/useOraclesConfig";
import { useResource } from "../react/useResource";
import type { ICollection, IDocument, Readers } from "./types";

export interface UseCollectionsOptions {
  oracleDid: string;
  /** Mints a token with every right (fs/*) in the folders of the collections. */
  fileToken: FileToken;
  overrides?: OracleOverrides;
}

/** What a collection is made of; its folder is /knowledge/NAME unless given. */
export interface NewCollection {
  name: string;
  readers: Readers;
  dids?: string[];
  folder?: string;
}

export interface UseCollectionsResult {
  collections: ICollection[];
  /** The documents of each collection, by its id: the first thousand. */
  documents: Record<string, IDocument[]>;
  create: (collection: NewCollection) => Promise<ICollection>;
  /** Renames it, or chooses its readers. */
  change: (id: string, change: Partial<Omit<NewCollection, "folder">>) => Promise<void>;
  /** Forgets the collection; its files stay. */
  forget: (id: string) => Promise<void>;
  isLoading: boolean;
  error: Error | undefined;
  refetch: () => Promise<void>;
}

interface Shelf {
  collections: ICollection[];
  documents: Record<string, IDocument[]>;
}

const empty: Shelf = { collections: [], documents: {} };

/** How many pages of documents are read of one collection, 200 each. */
const mostPages = 5;

/** How often a document that is being read is asked after, and how often the rest: files change elsewhere. */
const patience = 1000;
const rest = 5000;

/**
 * The collections whose folders the token reaches, with their documents and how
 * far each is read. It is kept up to date while the page is seen.
 */
export function useCollections(options: UseCollectionsOptions): UseCollectionsResult {
  const { client } = useOraclesContext();
  const { oracleDid } = options;
  const config = useOraclesConfig(oracleDid, options.overrides);
  const baseUrl = config.isReady ? config.apiUrl : null;
  const token = useLatest(options.fileToken);
  const ask = useMemo(() => {
    const at = {
      baseUrl: baseUrl ?? "",
      fetch: client.fetch,
      token: async () => {
        known(baseUrl);
        return token.current();
      },
    };
    return <T>(path: string, method?: string, body?: unknown) =>
      askFiles<T>(at, `/api/knowledge/collections${path}`, {
        ...(method ? { method } : {}),
        ...(body === undefined ? {} : { body }),
      });
  }, [client, baseUrl, token]);

  const key = baseUrl && ["collections", baseUrl, oracleDid].join(" ");
  const { data, error, isLoading, reload, refetch } = useResource<Shelf>(key, async () => {
    const { collections } = await ask<{ collections: ICollection[] }>("");
    const read = await Promise.all(collections.map(({ id }) => documentsOf(ask, id)));
    return {
      collections,
      documents: Object.fromEntries(collections.map(({ id }, i) => [id, read[i] ?? []])),
    };
  });

  const { collections, documents } = data ?? empty;
  const isReading = collections.some(
    (c) => !c.complete || c.documents.waiting > 0 || c.documents.reading > 0,
  );
  useEffect(() => {
    const again = () => void reload();
    const timer = setInterval(
      () => {
        if (!document.hidden) again();
      },
      isReading ? patience : rest,
    );
    addEventListener("focus", again);
    return () => {
      clearInterval(timer);
      removeEventListener("focus", again);
    };
  }, [isReading, reload]);

  const acts = useMemo(
    () => ({
      create: async (collection: NewCollection) => {
        const made = await ask<ICollection>("", "POST", collection);
        await reload();
        return made;
      },
      change: async (id: string, change: Partial<NewCollection>) => {
        await ask(`/${encodeURIComponent(id)}`, "PATCH", change);
        await reload();
      },
      forget: async (id: string) => {
        await ask(`/${encodeURIComponent(id)}`, "DELETE");
        await reload();
      },
    }),
    [ask, reload],
  );
  return {
    ...acts,
    collections,
    documents,
    isLoading: isLoading || config.isLoading,
    error: error ?? config.error,
    refetch: baseUrl ? refetch : config.refetch,
  };
}

async function documentsOf(ask: <T>(path: string) => Promise<T>, id: string): Promise<IDocument[]> {
  const all: IDocument[] = [];
  let after = "";
  for (let page = 0; page < mostPages; page++) {
    const { documents, next } = await ask<{ documents: IDocument[]; next?: string }>(
      `/${encodeURIComponent(id)}/documents${after}`,
    );
    all.push(...documents);
    if (!next) break;
    after = `?after=${encodeURIComponent(next)}`;
  }
  return all;
}
