import { base64, utf8 } from "../../identity/bytes";
import { FilesError, type FileRecord, type Files } from "./api";

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
  /** For tests. */
  send?: Send;
  wait?: (ms: number) => Promise<void>;
  chunk?: number;
}

const chunkSize = 8 * 1024 * 1024;
const patience = 8;
const protocol = { "Tus-Resumable": "1.0.0" };

async function authorised(files: Files): Promise<Record<string, string>> {
  return { ...protocol, Authorization: `Bearer ${await files.bearer()}` };
}

/** Where an unfinished upload is remembered, also after a reload. */
function slotOf(files: Files, path: string, file: File): string {
  return `castalia-upload ${files.owner} ${path} ${file.size} ${file.lastModified}`;
}

/**
 * Stores a file in parts (tus 1.0.0). A part that fails is asked for again from
 * where the server stands; an upload that was broken off, even by closing the
 * page, goes on where it was when the same file is chosen again.
 */
export async function uploadFile(
  files: Files,
  path: string,
  file: File,
  options: UploadOptions = {},
): Promise<FileRecord> {
  const send = options.send ?? overHTTP;
  const wait = options.wait ?? ((ms) => new Promise((done) => setTimeout(done, ms)));
  const slot = slotOf(files, path, file);
  const auth = () => authorised(files);
  const { signal } = options;

  async function where(url: string): Promise<number | undefined> {
    const answer = await send({ method: "HEAD", url, headers: await auth(), signal });
    const offset = Number(answer.header("Upload-Offset") ?? NaN);
    return answer.status === 200 && Number.isFinite(offset) ? offset : undefined;
  }
  async function create(): Promise<string> {
    const meta = { path, contentType: file.type || "application/octet-stream", overwrite: "true" };
    const answer = await send({
      method: "POST",
      url: "/api/fs/upload",
      headers: {
        ...(await auth()),
        "Upload-Length": String(file.size),
        "Upload-Metadata": Object.entries(meta)
          .map(([key, value]) => `${key} ${base64(utf8(value))}`)
          .join(","),
      },
      signal,
    });
    const location = answer.header("Location");
    if (answer.status !== 201 || !location) throw new FilesError(answer.status, answer.message());
    // Only the path: a proxy may have another name than the server knows.
    return new URL(location, "http://here.invalid").pathname;
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
        if (isFinal(answer.status)) throw new FilesError(answer.status, answer.message());
        throw new Error(answer.message());
      }
      offset = next;
      failures = 0;
    } catch (cause) {
      if (signal?.aborted || cause instanceof FilesError || ++failures > patience) {
        if (cause instanceof FilesError) localStorage.removeItem(slot);
        throw cause;
      }
      await wait(Math.min(250 * 2 ** failures, 8000));
      offset = (await where(url).catch(() => undefined)) ?? offset;
    }
    options.onProgress?.(offset / file.size);
  }
  localStorage.removeItem(slot);
  return files.stat(path);
}

/** Gives an upload up, here and at the server, which clears away what it is not told of. */
export async function forget(files: Files, path: string, file: File, send = overHTTP) {
  const slot = slotOf(files, path, file);
  const url = localStorage.getItem(slot);
  if (!url) return;
  localStorage.removeItem(slot);
  const headers = await authorised(files);
  await send({ method: "DELETE", url, headers }).catch(() => undefined);
}

/** Whether sending again can not help. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && ![408, 409, 423, 425, 429].includes(status);
}

/** XMLHttpRequest, because fetch can not tell how much was sent. */
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
