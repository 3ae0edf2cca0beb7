import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { OracleOverrides } from "../core/config";
import { asError, errorFrom } from "../core/errors";
import { useOraclesContext } from "../react/context";
import { useLatest } from "../react/latest";
import { useOraclesConfig } from "../react/useOraclesConfig";
import { useResource } from "../react/useResource";
import { askFiles, known, type FileToken } from "./bearer";
import { forgetUpload, uploadFile, type FileStore, type IStoredFile } from "./upload";

/** How many pages of a folder are read; the oracle decides how long one is. */
const mostPages = 20;

export interface UseFilesOptions {
  oracleDid: string;
  /** Mints a token for the user's files: fs/read in the folder, and fs/write to change it. */
  fileToken: FileToken;
  /** The folder that is shown; the user's whole store unless given. */
  folder?: string;
  overrides?: OracleOverrides;
}

/** A file or a folder in the folder that is shown. */
export interface IFileNode {
  path: string;
  name: string;
  type: "file" | "folder";
  /** Of files alone, like all that follows. */
  id?: string;
  mimeType?: string;
  size?: number;
  cid?: string;
  version?: number;
  updatedAt?: string;
}

/** A file on its way into the folder. */
export interface IUpload {
  path: string;
  name: string;
  /** From 0 to 1. */
  progress: number;
  /** Why it could not be stored; it is on the list until it is stopped or stored again. */
  error?: Error;
}

export interface UseFilesResult {
  /** What is in the folder, as the oracle orders it. */
  files: IFileNode[];
  uploads: IUpload[];
  /** Stores files in the folder, in parts that survive broken lines; resolves with those that were. */
  upload: (files: Iterable<File>) => Promise<IStoredFile[]>;
  /** Ends an upload, by its path. */
  stop: (path: string) => void;
  /** The content of a file. */
  read: (path: string) => Promise<Blob>;
  /** Moves or renames a file or a folder. */
  move: (from: string, to: string) => Promise<void>;
  /** Puts a file into the trash, by its id. */
  remove: (id: string) => Promise<void>;
  isLoading: boolean;
  error: Error | undefined;
  refetch: () => Promise<void>;
}

const none: IFileNode[] = [];

/** A folder of the user's own store at an oracle. */
export function useFiles(options: UseFilesOptions): UseFilesResult {
  const { client, wallet } = useOraclesContext();
  const { oracleDid } = options;
  const folder = `/${(options.folder ?? "").replace(/^\/+|\/+$/g, "")}`;
  const config = useOraclesConfig(oracleDid, options.overrides);
  const baseUrl = config.isReady ? config.apiUrl : null;
  const token = useLatest(options.fileToken);
  const store = useMemo<FileStore & { fetch: typeof fetch }>(
    () => ({
      baseUrl: baseUrl ?? "",
      owner: wallet.did,
      fetch: client.fetch,
      // Without one, what is stored too early goes nowhere, and not to the page's own server.
      token: async () => {
        known(baseUrl);
        return token.current();
      },
    }),
    [client, baseUrl, wallet.did, token],
  );
  const key = baseUrl && ["files", baseUrl, oracleDid, wallet.did, folder].join(" ");
  const list = useResource<IFileNode[]>(key, () => nodesOf(store, folder));
  const { reload } = list;
  const { uploads, upload, stop } = useUploads(store, folder, reload);
  const acts = useMemo(
    () => ({
      read: async (path: string) => {
        const url = `${store.baseUrl.replace(/\/+$/, "")}/api/fs/content?path=${at(path)}`;
        const headers = { Authorization: `Bearer ${await store.token()}` };
        const response = await store.fetch(url, { headers });
        if (!response.ok) throw await errorFrom(response);
        return response.blob();
      },
      move: async (from: string, to: string) => {
        await askFiles(store, "/api/fs/move", { method: "POST", body: { from, to } });
        await reload();
      },
      remove: async (id: string) => {
        await askFiles(store, `/api/fs/files/${at(id)}`, { method: "DELETE" });
        await reload();
      },
    }),
    [store, reload],
  );
  return {
    ...acts,
    files: list.data ?? none,
    uploads,
    upload,
    stop,
    isLoading: list.isLoading || config.isLoading,
    error: list.error ?? config.error,
    refetch: baseUrl ? list.refetch : config.refetch,
  };
}

const at = encodeURIComponent;

async function nodesOf(store: Parameters<typeof askFiles>[0], folder: string) {
  const all: IFileNode[] = [];
  let after = "";
  for (let page = 0; page < mostPages; page++) {
    const { nodes, next } = await askFiles<{ nodes: IFileNode[]; next?: string }>(
      store,
      `/api/fs/tree?path=${at(folder)}${after}`,
    );
    all.push(...nodes);
    if (!next) break;
    after = `&after=${at(next)}`;
  }
  return all;
}

/** A file on its way. */
interface Running {
  file: File;
  /** Ends it, which may be given up as well. */
  end: (isGivenUp: boolean) => void;
  made: Promise<IStoredFile[]>;
}

/** What is on its way. Who leaves the page stops it; the same file goes on where it was. */
function useUploads(store: FileStore, folder: string, stored: () => Promise<void>) {
  const [uploads, setUploads] = useState<IUpload[]>([]);
  /** The last one of each path. */
  const running = useRef(new Map<string, Running>());
  useEffect(() => {
    const all = running.current;
    return () => all.forEach(({ end }) => end(false));
  }, []);
  const change = useCallback(
    (path: string, next?: IUpload) =>
      setUploads((all) => [...all.filter((u) => u.path !== path), ...(next ? [next] : [])]),
    [],
  );
  const storeOne = useCallback(
    (file: File): Promise<IStoredFile[]> => {
      const { name } = file;
      const path = `${folder === "/" ? "" : folder}/${name}`;
      const before = running.current.get(path);
      if (before && isSame(before.file, file)) return before.made;
      const control = new AbortController();
      const { signal } = control;
      const show = (next?: IUpload) => {
        if (running.current.get(path) === mine) change(path, next);
      };
      const work = async () => {
        try {
          // Another file of this name: its next version, when the one before is there.
          if (before) await before.made;
          signal.throwIfAborted();
          const made = await uploadFile(store, path, file, {
            signal,
            onProgress: (progress) => show({ path, name, progress }),
          });
          show();
          return [made];
        } catch (cause) {
          if (!signal.aborted) show({ path, name, progress: 0, error: asError(cause) });
          return [];
        } finally {
          if (running.current.get(path) === mine) running.current.delete(path);
        }
      };
      const mine: Running = {
        file,
        end: (isGivenUp) => {
          before?.end(isGivenUp);
          control.abort();
          if (isGivenUp) void forgetUpload(store, path, file);
        },
        made: Promise.resolve([]),
      };
      running.current.set(path, mine);
      show({ path, name, progress: 0 });
      mine.made = work();
      return mine.made;
    },
    [store, folder, change],
  );
  const upload = useCallback(
    async (files: Iterable<File>) => {
      const made = (await Promise.all([...files].map(storeOne))).flat();
      if (made.length > 0) await stored();
      return made;
    },
    [storeOne, stored],
  );
  const stop = useCallback(
    (path: string) => {
      running.current.get(path)?.end(true);
      running.current.delete(path);
      change(path);
    },
    [change],
  );
  return { uploads, upload, stop };
}

function isSame(a: File, b: File): boolean {
  return a.size === b.size && a.lastModified === b.lastModified;
}
