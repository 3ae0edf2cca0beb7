import { fileToken, type Session } from "../../identity/session";
import { Refusal, refusal } from "../../shell/refusal";
import { namePatterns } from "./found";
import type { Onto } from "./transfer";

export interface FileRecord {
  id: string;
  path: string;
  name: string;
  mimeType: string;
  size: number;
  version: number;
  cid: string;
  updatedAt: string;
  publicUrl?: string;
}

export interface TreeNode {
  path: string;
  name: string;
  type: "file" | "folder";
  id?: string;
  mimeType?: string;
  size?: number;
  cid?: string;
  version?: number;
  updatedAt?: string;
}

export interface VersionRecord {
  version: number;
  size: number;
  cid: string;
  createdAt: string;
  invoker: string;
  actor: string;
}

export interface SearchHit {
  path: string;
  fileId: string;
  lineStart?: number;
  lineEnd?: number;
  preview?: string;
  cid: string;
}

export interface SearchResult {
  hits: SearchHit[];
  /** Changes that the index has not read yet. */
  behind: number;
}

export interface ShareRecord {
  id: string;
  path: string;
  createdAt: string;
  expiresAt?: string;
  maxUses?: number;
  uses: number;
  revokedAt?: string;
  /** Open, used up, expired or ended; older servers do not say. */
  state?: string;
  /** Whether its address is all that is needed. */
  plain?: boolean;
  /** Whether files are sent by it, and how much of what it takes has come. */
  upload?: boolean;
  maxBytes?: number;
  bytes?: number;
}

export interface PlainLink extends ShareRecord {
  url: string;
}

export interface ContentMatch extends FileRecord {
  lines: number[];
  snippet?: string;
}

export interface CidRecord {
  cid: string;
  id: string;
  path: string;
  name: string;
  size: number;
  mimeType: string;
}

/** One piece of what a document says. */
export interface Block {
  kind: string;
  text?: string;
  items?: { text: string }[];
  rows?: string[][];
  header?: number;
  place?: { page?: number; part?: string };
}

/** What a document says. */
export interface DocumentLook {
  blocks: Block[];
  notes?: string[];
}

/** A refusal of the store. */
export class FilesError extends Refusal {
  /** Whether something else has the name. */
  get isTaken(): boolean {
    return this.status === 409 && this.code !== "folder_too_large";
  }
}

/** What became of many files: those with which it was done, and the first refusal. */
export interface BatchResult {
  done: string[];
  failed?: Error;
}

const at = encodeURIComponent;

/** Asks for the first bytes, where a limit is given. */
function first(limit: number | undefined): Record<string, string> {
  return limit === undefined ? {} : { Range: `bytes=0-${limit - 1}` };
}

/** Whether a file is at a path, or below it. */
function isAt(file: FileRecord, path: string): boolean {
  return file.path === path || file.path.startsWith(`${path}/`);
}

/** Files in one answer, and in all answers to one question. */
const page = 200;
const most = 2000;

/** Files of the trash in which something is looked for that came there just now. */
const newest = 1000;

/** Files in one request that does something with them. */
const batch = 500;

/** How many places a search shows of each kind. */
const mostFound = 20;

/** The file store, in the name of whoever the bearer speaks for. */
export class Files {
  readonly token: () => Promise<string>;
  /** The server that served this page. */
  readonly baseUrl = "";
  /** Whose uploads are remembered here. */
  readonly owner: string;

  constructor(who: Session | { owner: string; token: () => Promise<string> }) {
    this.token = "token" in who ? who.token : () => fileToken(who);
    this.owner = "token" in who ? who.owner : who.key.did;
  }

  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("Authorization", `Bearer ${await this.token()}`);
    const reply = await fetch(`/api/fs${path}`, { ...init, headers });
    if (!reply.ok) {
      const { status, said, code } = await refusal(reply);
      throw new FilesError(status, said, code);
    }
    return reply;
  }

  async #json<T>(path: string, init?: RequestInit): Promise<T> {
    return (await (await this.request(path, init)).json()) as T;
  }

  async #send(method: string, path: string, body?: unknown): Promise<Response> {
    return this.request(path, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
    });
  }

  /** Files below a folder, page by page, up to a number that a page can still show. */
  async list(folder = "/"): Promise<FileRecord[]> {
    const all: FileRecord[] = [];
    for (;;) {
      const after = all.at(-1);
      const { files } = await this.#json<{ files: FileRecord[] }>(
        `/files?limit=${page}&path=${at(folder)}${after ? `&after=${at(after.path)}` : ""}`,
      );
      all.push(...files);
      if (files.length < page || all.length >= most) return all;
    }
  }

  /** What is in a folder: some of it, and where the next part begins. */
  page(
    folder: string,
    after: string,
    limit: number,
    signal: AbortSignal,
  ): Promise<{ nodes: TreeNode[]; next?: string }> {
    const from = after ? `&after=${at(after)}` : "";
    return this.#json(`/tree?path=${at(folder)}&limit=${limit}${from}`, { signal });
  }

  /** The newest of what was thrown away, and whether there is more. */
  async trash(): Promise<{ list: FileRecord[]; isCut: boolean }> {
    const list: FileRecord[] = [];
    for await (const file of this.#trashed()) {
      if (list.length >= newest) return { list, isCut: true };
      list.push(file);
    }
    return { list, isCut: false };
  }

  /** Brings a file back to another place. */
  async restoreTo(id: string, path: string): Promise<void> {
    await this.#send("POST", `/files/${at(id)}/restore?path=${at(path)}`);
  }

  stat(path: string): Promise<FileRecord> {
    return this.#json(`/stat?path=${at(path)}`);
  }

  file(id: string): Promise<FileRecord> {
    return this.#json(`/files/${at(id)}`);
  }

  async versions(id: string): Promise<VersionRecord[]> {
    return (await this.#json<{ versions: VersionRecord[] }>(`/files/${at(id)}/versions`)).versions;
  }

  search(text: string): Promise<SearchResult> {
    return this.#json(`/search?q=${at(text)}`);
  }

  /** Files by a part of their name. */
  async byName(part: string): Promise<FileRecord[]> {
    const found = await Promise.all(
      namePatterns(part).map((pattern) =>
        this.#json<{ files: FileRecord[] }>(`/glob?pattern=${at(pattern)}&limit=${mostFound}`),
      ),
    );
    const byId = new Map(found.flatMap(({ files }) => files).map((file) => [file.id, file]));
    return [...byId.values()].slice(0, mostFound);
  }

  /** Files by a part of what is written in them. */
  async containing(part: string): Promise<ContentMatch[]> {
    const found = await this.#json<{ matches: ContentMatch[] }>(
      `/grep?q=${at(part)}&limit=${mostFound}`,
    );
    return found.matches;
  }

  async cids(): Promise<CidRecord[]> {
    return (await this.#json<{ cids: CidRecord[] }>("/cids?limit=200")).cids;
  }

  async usage(): Promise<Record<string, number>> {
    return this.#json("/usage");
  }

  /** Does something with many files, a few hundred in one request; what was done is said also when the rest fails. */
  async #batch(act: string, ids: string[]): Promise<BatchResult> {
    const out: BatchResult = { done: [] };
    for (let from = 0; from < ids.length; from += batch) {
      const body = { ids: ids.slice(from, from + batch) };
      let results: { id: string; ok: boolean; status: number; error?: string }[];
      try {
        const reply = await this.#send("POST", `/batch/${act}`, body);
        ({ results } = (await reply.json()) as { results: typeof results });
      } catch (cause) {
        out.failed ??= cause instanceof Error ? cause : new Error(String(cause));
        return out;
      }
      for (const { id, ok, status, error } of results) {
        if (ok) out.done.push(id);
        else out.failed ??= new FilesError(status, error ?? "");
      }
    }
    return out;
  }

  /** All of them, or the first failure. */
  async #all(act: string, ids: string[]): Promise<void> {
    const { failed } = await this.#batch(act, ids);
    if (failed) throw failed;
  }

  /** Moves files to the trash. */
  remove(ids: string[]): Promise<void> {
    return this.#all("delete", ids);
  }

  /** Moves files to the trash, and says which of them went. */
  removeSome(ids: string[]): Promise<BatchResult> {
    return this.#batch("delete", ids);
  }

  async removeFolder(path: string): Promise<void> {
    await this.#send("DELETE", `/folders?path=${at(path)}`);
  }

  async makeFolder(path: string): Promise<void> {
    await this.#send("POST", "/folders", { path });
  }

  restore(ids: string[]): Promise<void> {
    return this.#all("restore", ids);
  }

  /** When what is in the trash of a path, itself or below it, came there last; looked for among the newest. */
  async lastTrashed(path: string): Promise<string | undefined> {
    let looked = 0;
    for await (const file of this.#trashed()) {
      if (isAt(file, path)) return file.trashedAt;
      if (++looked >= newest) return undefined;
    }
    return undefined;
  }

  /**
   * Brings back what came from a path into the trash in one act, and nothing that came there before
   * or later. A folder in which there was nothing is made again.
   */
  async restoreAt(path: string, when: string | undefined): Promise<void> {
    if (when === undefined) return this.makeFolder(path);
    const ids: string[] = [];
    for await (const file of this.#trashed()) {
      if ((file.trashedAt ?? "") < when) break; // the newest come first
      if (file.trashedAt === when && isAt(file, path)) ids.push(file.id);
    }
    await this.restore(ids);
  }

  async *#trashed(): AsyncGenerator<FileRecord & { trashedAt?: string }> {
    for (let offset = 0; ; offset += page) {
      const { files } = await this.#json<{ files: (FileRecord & { trashedAt?: string })[] }>(
        `/trash?limit=${page}&offset=${offset}`,
      );
      yield* files;
      if (files.length < page) return;
    }
  }

  async restoreVersion(id: string, version: number): Promise<void> {
    await this.#send("POST", `/files/${at(id)}/versions/${version}/restore`);
  }

  /** Destroys files that are in the trash, with their keys. */
  async purge(ids: string[]): Promise<void> {
    await this.#all("purge", ids);
  }

  async move(from: string, to: string, onto: Onto = "nothing"): Promise<void> {
    await this.#send("POST", "/move", { from, to, onto });
  }

  async copy(from: string, to: string, onto: Onto = "nothing"): Promise<void> {
    await this.#send("POST", "/copy", { from, to, onto });
  }

  /** The content of a file, or its first bytes. */
  async content(id: string, version?: number, limit?: number): Promise<Blob> {
    const tail = version === undefined ? "content" : `versions/${version}/content`;
    return (await this.request(`/files/${at(id)}/${tail}`, { headers: first(limit) })).blob();
  }

  /** What a document says, read by the server. */
  async look(id: string, version?: number): Promise<DocumentLook> {
    const which = version === undefined ? "" : `?version=${version}`;
    const look = await this.#json<DocumentLook>(`/files/${at(id)}/document${which}`);
    return { ...look, blocks: look.blocks ?? [] };
  }

  /** A picture made small by the server. */
  async thumbnail(id: string): Promise<Blob> {
    return (await this.request(`/files/${at(id)}/thumbnail`)).blob();
  }

  async byCid(cid: string, limit?: number): Promise<Blob> {
    return (await this.request(`/cid/${at(cid)}`, { headers: first(limit) })).blob();
  }

  async byPath(path: string): Promise<Blob> {
    return (await this.request(`/content?path=${at(path)}`)).blob();
  }

  async shares(): Promise<ShareRecord[]> {
    return (await this.#json<{ shares: ShareRecord[] }>("/shares?limit=200")).shares;
  }

  async registerShare(delegation: string, path: string, maxUses: number): Promise<ShareRecord> {
    const reply = await this.#send("POST", "/shares", { delegation, path, maxUses });
    return (await reply.json()) as ShareRecord;
  }

  /** Makes an address that opens in any browser and with any program. */
  async sharePlainly(path: string, hours: number, maxUses: number): Promise<PlainLink> {
    const expiresAt = new Date(Date.now() + hours * 3600_000).toISOString();
    const reply = await this.#send("POST", "/shares/plain", { path, maxUses, expiresAt });
    return (await reply.json()) as PlainLink;
  }

  /** Makes an address at which others put files into a folder. */
  async takeUploads(
    path: string,
    hours: number,
    takes: { maxBytes: number; maxFiles: number },
  ): Promise<PlainLink> {
    const expiresAt = new Date(Date.now() + hours * 3600_000).toISOString();
    const reply = await this.#send("POST", "/shares/upload", { path, expiresAt, ...takes });
    return (await reply.json()) as PlainLink;
  }

  async endShare(id: string): Promise<void> {
    await this.#send("DELETE", `/shares/${at(id)}`);
  }
}
