import { RequestError } from "../core/errors";
import { askFiles, type FileToken } from "./bearer";

/** Somebody's files at a server. */
export interface FileStore {
  /** Where the server is; empty for the one that served the page. */
  baseUrl: string;
  /** Whose uploads are remembered in this browser: a DID. */
  owner: string;
  /** Mints a token for the user's files there: fs/write where they go, and fs/read. */
  token: FileToken;
}

/** A file as the store knows it. */
export interface IStoredFile {
  id: string;
  path: string;
  name: string;
  mimeType: string;
  size: number;
  version: number;
  cid: string;
  updatedAt: string;
}

/** An answer to one request of an upload. */
export interface Answer {
  status: number;
  header(name: string): string | null;
  message(): string;
}

/** Sends one request; fails only when no answer came. */
export type Send = (request: {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: Blob;
  onSent?: (bytes: number) => void;
  signal?: AbortSignal | undefined;
}) => Promise<Answer>;

export interface UploadOptions {
  onProgress?: (share: number) => void;
  signal?: AbortSignal;
  /** Whether a file that is there gets a new version, as it does unless told otherwise; else it is refused with 409. */
  overwrite?: boolean;
  /** @internal */
  send?: Send;
  /** @internal */
  wait?: (ms: number) => Promise<void>;
  /** @internal */
  chunk?: number;
  /** @internal */
  stat?: (path: string) => Promise<IStoredFile>;
}

const chunkSize = 8 * 1024 * 1024;
const patience = 8;
const protocol = { "Tus-Resumable": "1.0.0" };

async function authorised(files: FileStore): Promise<Record<string, string>> {
  return { ...protocol, Authorization: `Bearer ${await files.token()}` };
}

/** Where an unfinished upload is remembered, also after a reload. */
function slotOf(files: FileStore, path: string, file: File): string {
  return `castalia-upload ${files.owner} ${path} ${file.size} ${file.lastModified}`;
}

/**
 * Stores a file in parts (tus 1.0.0). A part that fails is asked for again from
 * where the server stands; an upload that was broken off, even by closing the
 * page, goes on where it was when the same file is chosen again.
 */
export async function uploadFile(
  files: FileStore,
  path: string,
  file: File,
  options: UploadOptions = {},
): Promise<IStoredFile> {
  const send = options.send ?? overHTTP;
  const stat =
    options.stat ??
    ((path: string) =>
      askFiles<IStoredFile>(
        { ...files, fetch: (...args) => fetch(...args) },
        `/api/fs/stat?path=${encodeURIComponent(path)}`,
      ));
  const wait = options.wait ?? ((ms) => new Promise((done) => setTimeout(done, ms)));
  const slot = slotOf(files, path, file);
  const auth = () => authorised(files);
  const { signal } = options;
  const base = files.baseUrl.replace(/\/+$/, "");

  async function where(url: string): Promise<number | undefined> {
    const answer = await send({ method: "HEAD", url, headers: await auth(), signal });
    const offset = Number(answer.header("Upload-Offset") ?? NaN);
    return answer.status === 200 && Number.isFinite(offset) ? offset : undefined;
  }
  async function create(): Promise<string> {
    const meta = {
      path,
      contentType: file.type || "application/octet-stream",
      overwrite: String(options.overwrite ?? true),
    };
    const answer = await send({
      method: "POST",
      url: `${base}/api/fs/upload`,
      headers: {
        ...(await auth()),
        "Upload-Length": String(file.size),
        "Upload-Metadata": Object.entries(meta)
          .map(([key, value]) => `${key} ${encoded(value)}`)
          .join(","),
      },
      signal,
    });
    const location = answer.header("Location");
    if (answer.status !== 201 || !location) throw new RequestError(answer.status, answer.message());
    // Only the path: a proxy may have another name than the server knows.
    return base + new URL(location, "http://here.invalid").pathname;
  }

  let url = localStorage.getItem(slot) ?? "";
  let known = url ? await where(url).catch(() => undefined) : undefined;
  if (known === undefined) {
    url = await create();
    localStorage.setItem(slot, url);
    known = 0;
  }
  let offset = known;
  let failures = 0;
  while (offset < file.size) {
    signal?.throwIfAborted();
    const from = offset;
    const end = Math.min(file.size, from + (options.chunk ?? chunkSize));
    try {
      const answer = await send({
        method: "PATCH",
        url,
        headers: {
          ...(await auth()),
          "Content-Type": "application/offset+octet-stream",
          "Upload-Offset": String(from),
        },
        body: file.slice(from, end),
        onSent: (bytes) => options.onProgress?.((from + bytes) / file.size),
        signal,
      });
      const next = Number(answer.header("Upload-Offset") ?? NaN);
      if (answer.status >= 300 || !Number.isFinite(next)) {
        if (isFinal(answer.status)) throw new RequestError(answer.status, answer.message());
        throw new Error(answer.message());
      }
      offset = next;
      failures = 0;
    } catch (cause) {
      if (signal?.aborted || cause instanceof RequestError || ++failures > patience) {
        if (cause instanceof RequestError) localStorage.removeItem(slot);
        throw cause;
      }
      await wait(Math.min(250 * 2 ** failures, 8000));
      offset = (await where(url).catch(() => undefined)) ?? offset;
    }
    options.onProgress?.(offset / file.size);
  }
  localStorage.removeItem(slot);
  return stat(path);
}

/** Gives an upload up, here and at the server, which clears away what it is not told of. */
export async function forgetUpload(files: FileStore, path: string, file: File, send = overHTTP) {
  const slot = slotOf(files, path, file);
  const url = localStorage.getItem(slot);
  if (!url) return;
  localStorage.removeItem(slot);
  const headers = await authorised(files);
  await send({ method: "DELETE", url, headers }).catch(() => undefined);
}

/** Base64 of the text's UTF-8. */
function encoded(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

/** Whether sending again cannot help. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && ![408, 409, 423, 425, 429].includes(status);
}

/** XMLHttpRequest, because fetch cannot tell how much was sent. */
const overHTTP: Send = (request) =>
  new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    xhr.open(request.method, request.url);
    for (const [name, value] of Object.entries(request.headers)) xhr.setRequestHeader(name, value);
    xhr.upload.onprogress = (event) => request.onSent?.(event.loaded);
    xhr.onerror = () => reject(new Error("The connection broke."));
    xhr.onabort = () => reject(new DOMException("Stopped", "AbortError"));
    xhr.onload = () =>
      resolve({
        status: xhr.status,
        header: (name) => xhr.getResponseHeader(name),
        message: () => {
          try {
            return (JSON.parse(xhr.responseText) as { message: string }).message;
          } catch {
            return `The server answered ${xhr.status}`;
          }
        },
      });
    request.signal?.addEventListener("abort", () => xhr.abort(), { once: true });
    xhr.send(request.body ?? null);
  });
