import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { OracleOverrides } from "../core/config";
import { asError, RequestError } from "../core/errors";
import type { IAttachment } from "../core/types";
import { forgetUpload, uploadFile, type FileStore, type IStoredFile } from "../files/upload";
import { known, type FileToken } from "../files/bearer";
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
  /**
   * Empties the list into a message, at once: what is taken is taken by nobody else. Resolves
   * when all of it is stored and the oracle may read it, also after the page has left; otherwise
   * it fails, and what was stored is on the list again.
   */
  take: () => Promise<IAttachment[]>;
  /** Puts back what was taken for a message that was not sent. */
  giveBack: (taken: IAttachment[]) => void;
}

/** A file on its way into the store, for the next message. */
interface Upload {
  stop: () => void;
  /** What it became, or why it could not be stored. */
  stored: Promise<Attached | Error>;
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
  /** The list as it is now, which a page may not have drawn yet: nothing is taken twice. */
  const held = useRef<Attached[]>([]);
  /** By the keys of the list. What a message has taken is not among them, and goes on. */
  const uploads = useRef(new Map<string, Upload>());
  const places = useRef(new Map<string, Promise<unknown>>());
  /** What the oracle was let read here: earlier messages are read again. */
  const granted = useRef(new Set<string>());

  useEffect(() => {
    const all = uploads.current;
    return () => all.forEach(({ stop }) => stop());
  }, []);

  const change = useCallback(
    (next: (all: Attached[]) => Attached[]) => setList((held.current = next(held.current))),
    [],
  );
  const store = useMemo<FileStore>(
    () => ({
      baseUrl: baseUrl ?? "",
      owner: wallet.did,
      // Without one, what is stored too early goes nowhere, and not to the page's own server.
      token: async () => {
        known(baseUrl);
        return latest.current.fileToken();
      },
    }),
    [baseUrl, wallet.did, latest],
  );
  const storeOne = useCallback(
    (file: File) => {
      const key = `${file.name} ${file.size} ${file.lastModified}`;
      if (held.current.some((a) => a.key === key)) return;
      const place = `${latest.current.folder ?? "/Attachments"}/${file.name}`;
      let path = place;
      const control = new AbortController();
      const { signal } = control;
      const filename = file.name;
      const mimetype = file.type || "text/plain";
      const become = (now: Attached) => change((all) => all.map((a) => (a.key === key ? now : a)));
      const work = async () => {
        try {
          // Whether its place is taken is known when the one before it is stored.
          const before = places.current.get(place);
          if (before) await before;
          signal.throwIfAborted();
          const onProgress = (progress: number) => {
            if (uploads.current.get(key) === upload) become({ key, filename, mimetype, progress });
          };
          const asked = { signal, onProgress };
          const stored = await uploadFile(store, path, file, { ...asked, overwrite: false }).catch(
            (cause: unknown) => {
              if (!(cause instanceof RequestError && cause.status === 409)) throw cause;
              path = apart(place, file);
              return uploadFile(store, path, file, asked);
            },
          );
          const made = { key, ...described(stored), filename };
          if (uploads.current.get(key) === upload) become(made);
          return made;
        } catch (cause) {
          const why = new Error(`${file.name}: ${asError(cause).message}`, { cause });
          if (!signal.aborted) setError(why);
          if (uploads.current.get(key) === upload) change((all) => without(all, key));
          return why;
        } finally {
          if (uploads.current.get(key) === upload) uploads.current.delete(key);
          if (places.current.get(place) === upload.stored) places.current.delete(place);
        }
      };
      const upload: Upload = {
        stop: () => {
          control.abort();
          void forgetUpload(store, path, file);
        },
        stored: Promise.resolve(new Error()),
      };
      uploads.current.set(key, upload);
      change((all) => [...all, { key, filename, mimetype, progress: 0 }]);
      upload.stored = work();
      places.current.set(place, upload.stored);
    },
    [latest, store, change],
  );

  const acts = useMemo(() => {
    const giveBack = (taken: IAttachment[]) =>
      change((all) => {
        const known = new Set(all.map((a) => a.key));
        const lost = taken.map((a) => ({ key: `${a.cid ?? ""} ${a.filename}`, ...a }));
        return [...lost.filter((a) => !known.has(a.key)), ...all];
      });
    /** Lets the oracle read content, beside what it may read already. */
    const letRead = async (cids: string[]) => {
      const { grant } = latest.current;
      if (!grant || cids.every((cid) => granted.current.has(cid))) return;
      const all = new Set([...granted.current, ...cids]);
      const api = client.api(known(baseUrl), oracleDid);
      const raw = await grant([...all]);
      await api.json("/delegation", { method: "POST", body: { raw } });
      granted.current = all;
    };
    return {
      upload: (files: Iterable<File>) => {
        const all = [...files];
        const room = Math.max(0, most - held.current.length);
        setError(tooMany(all.slice(room).map(({ name }) => name)));
        all.slice(0, room).forEach(storeOne);
      },
      add: (file: Pick<IStoredFile, "name" | "mimeType" | "size" | "cid">) => {
        const isThere = held.current.some((a) => a.cid === file.cid);
        const isFull = !isThere && held.current.length >= most;
        setError(tooMany(isFull ? [file.name] : []));
        if (!isThere && !isFull) change((all) => [...all, { key: file.cid, ...described(file) }]);
      },
      remove: (key: string) => {
        uploads.current.get(key)?.stop();
        uploads.current.delete(key);
        change((all) => without(all, key));
      },
      take: async () => {
        setError(undefined); // what was refused before is asked for again
        const taken = held.current;
        const stored = taken.map((a) => uploads.current.get(a.key)?.stored ?? a);
        for (const { key } of taken) uploads.current.delete(key);
        change(() => []);
        const made = await Promise.all(stored);
        const files = made.flatMap((a) => (a instanceof Error ? [] : [plain(a)]));
        try {
          const failed = made.find((a) => a instanceof Error);
          if (failed) throw failed;
          await letRead(files.flatMap(({ cid }) => (cid ? [cid] : [])));
          return files;
        } catch (cause) {
          giveBack(files);
          setError(asError(cause));
          throw cause;
        }
      },
      giveBack,
    };
  }, [client, baseUrl, oracleDid, latest, change, storeOne]);
  const isStoring = list.some((a) => a.progress !== undefined);
  return useMemo(() => ({ ...acts, list, error, isStoring }), [acts, list, error, isStoring]);
}

/**
 * Where a file goes whose place another one has. That stays what it is: messages before were sent
 * with its content. The same file goes to the same place again.
 */
function apart(place: string, file: File): string {
  const ending = /[^/](\.[^./]+)$/.exec(place)?.[1] ?? "";
  const rest = place.slice(0, place.length - ending.length);
  return `${rest} ${file.lastModified}-${file.size}${ending}`;
}

function without(all: Attached[], key: string): Attached[] {
  return all.filter((a) => a.key !== key);
}

/** What is said of files that are not attached because there are enough. */
function tooMany(names: string[]): Error | undefined {
  return names.length > 0
    ? new Error(`${names.join(", ")}: a message takes ${most} files`)
    : undefined;
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
