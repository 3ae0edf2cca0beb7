import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { OracleOverrides } from "../core/config";
import { asError } from "../core/errors";
import type { IAttachment } from "../core/types";
import { forgetUpload, uploadFile, type FileStore, type IStoredFile } from "../files/upload";
import type { FileToken } from "../files/bearer";
import { useOraclesContext } from "../react/context";
import { useLatest } from "../react/latest";
import { useOraclesConfig } from "../react/useOraclesConfig";

/** The oracle takes no more with one message. */
const most = 10;

export interface UseAttachmentsOptions {
  oracleDid: string;
  /** Mints a token for the user's files: fs/write in the folder, and fs/read. */
  fileToken: FileToken;
  /** Where files go that are not in the store yet; /Attachments unless given. */
  folder?: string;
  /**
   * Signs a delegation to the oracle for reading this content (fs/read with the
   * caveat `cids`), beside what else the oracle may do. It is deposited before the
   * message goes out. Without it, the delegation that there is must allow it.
   */
  grant?: (cids: string[]) => Promise<string>;
  overrides?: OracleOverrides;
}

/** A file for the next message. */
export interface Attached extends IAttachment {
  key: string;
  /** Defined while it is being stored, from 0 to 1. */
  progress?: number | undefined;
}

export interface UseAttachmentsResult {
  list: Attached[];
  /** What could not be stored, and why. */
  error: Error | undefined;
  /** Whether something is still being stored. */
  isStoring: boolean;
  /** Stores files and attaches them: of an input, a drop or a paste. */
  upload: (files: Iterable<File>) => void;
  /** Attaches a file of the store. */
  add: (file: Pick<IStoredFile, "name" | "mimeType" | "size" | "cid">) => void;
  /** Takes one away; if it is being stored, that ends. */
  remove: (key: string) => void;
  /** Empties the list into a message, which the oracle may read from then on. */
  take: () => Promise<IAttachment[]>;
  /** Puts back what was taken for a message that was not sent. */
  giveBack: (taken: IAttachment[]) => void;
}

/** Files for the next message: of the user's store, or put there first. */
export function useAttachments(options: UseAttachmentsOptions): UseAttachmentsResult {
  const { client, wallet } = useOraclesContext();
  const { oracleDid } = options;
  const config = useOraclesConfig(oracleDid, options.overrides);
  const baseUrl = config.isReady ? config.apiUrl : null;
  const latest = useLatest(options);
  const [list, setList] = useState<Attached[]>([]);
  const [error, setError] = useState<Error>();
  const running = useRef(new Map<string, () => void>());
  /** What the oracle was let read here: earlier messages are read again. */
  const granted = useRef(new Set<string>());
  const shown = useLatest(list);

  useEffect(() => {
    const uploads = running.current;
    return () => uploads.forEach((stop) => stop());
  }, []);

  const store = useMemo<FileStore>(
    () => ({ baseUrl: baseUrl ?? "", owner: wallet.did, token: () => latest.current.fileToken() }),
    [baseUrl, wallet.did, latest],
  );
  const without = useCallback(
    (key: string) => setList((all) => all.filter((a) => a.key !== key)),
    [],
  );
  const storeOne = useCallback(
    async (file: File) => {
      const key = `${file.name} ${file.size} ${file.lastModified}`;
      if (running.current.has(key)) return;
      const path = `${latest.current.folder ?? "/Attachments"}/${file.name}`;
      const control = new AbortController();
      running.current.set(key, () => {
        control.abort();
        void forgetUpload(store, path, file);
      });
      const filename = file.name;
      const mimetype = file.type || "text/plain";
      setList((all) => [
        ...all.filter((a) => a.key !== key),
        { key, filename, mimetype, progress: 0 },
      ]);
      const become = (change: Attached) =>
        setList((all) => all.map((a) => (a.key === key ? change : a)));
      try {
        const stored = await uploadFile(store, path, file, {
          signal: control.signal,
          onProgress: (progress) => become({ key, filename, mimetype, progress }),
        });
        become({ key, ...described(stored) });
      } catch (cause) {
        without(key);
        if (!control.signal.aborted) {
          setError(new Error(`${file.name}: ${asError(cause).message}`, { cause }));
        }
      } finally {
        running.current.delete(key);
      }
    },
    [latest, store, without],
  );

  const acts = useMemo(
    () => ({
      upload: (files: Iterable<File>) => {
        setError(undefined);
        for (const file of [...files].slice(0, most - shown.current.length)) void storeOne(file);
      },
      add: (file: Pick<IStoredFile, "name" | "mimeType" | "size" | "cid">) => {
        setError(undefined);
        setList((all) =>
          all.length >= most || all.some((a) => a.cid === file.cid)
            ? all
            : [...all, { key: file.cid, ...described(file) }],
        );
      },
      remove: (key: string) => {
        running.current.get(key)?.();
        without(key);
      },
      take: async () => {
        setError(undefined); // what was refused before is asked for again
        const ready = shown.current.filter((a) => a.progress === undefined);
        const { grant } = latest.current;
        const cids = ready.flatMap(({ cid }) => (cid ? [cid] : []));
        if (grant && cids.some((cid) => !granted.current.has(cid))) {
          const all = new Set([...granted.current, ...cids]);
          try {
            const raw = await grant([...all]);
            const api = client.api(baseUrl ?? "", oracleDid);
            await api.json("/delegation", { method: "POST", body: { raw } });
          } catch (cause) {
            setError(asError(cause));
            throw cause;
          }
          granted.current = all;
        }
        setList((all) => all.filter((a) => a.progress !== undefined));
        return ready.map(plain);
      },
      giveBack: (taken: IAttachment[]) =>
        setList((all) => {
          const known = new Set(all.map((a) => a.key));
          const lost = taken.map((a) => ({ key: a.cid ?? a.filename, ...a }));
          return [...lost.filter((a) => !known.has(a.key)), ...all].slice(0, most);
        }),
    }),
    [client, baseUrl, oracleDid, latest, shown, storeOne, without],
  );
  const isStoring = list.some((a) => a.progress !== undefined);
  return useMemo(() => ({ ...acts, list, error, isStoring }), [acts, list, error, isStoring]);
}

function described(
  file: Pick<IStoredFile, "name" | "mimeType" | "size" | "cid">,
): Required<Pick<IAttachment, "filename" | "mimetype" | "size" | "cid">> {
  return { filename: file.name, mimetype: file.mimeType, size: file.size, cid: file.cid };
}

/** As the oracle takes it. */
function plain({ filename, mimetype, size, cid }: Attached): IAttachment {
  return {
    filename,
    mimetype,
    ...(size === undefined ? {} : { size }),
    ...(cid === undefined ? {} : { cid }),
  };
}
