import { fileToken, type Session } from "../../identity/session";
import { namePatterns } from "./found";

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

/** A refusal of the store, in its own words. */
export class FilesError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const at = encodeURIComponent;

/** Files in one answer, and in all answers to one question. */
const page = 200;
const most = 2000;

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
      const body = (await reply.json().catch(() => ({}))) as { message?: string };
      throw new FilesError(reply.status, body.message ?? `The server answered ${reply.status}`);
    }
    return reply;
  }

  async #json<T>(path: string): Promise<T> {
    return (await (await this.request(path)).json()) as T;
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

  async tree(folder: string): Promise<TreeNode[]> {
    const all: TreeNode[] = [];
    for (let after = ""; ;) {
      const { nodes, next } = await this.#json<{ nodes: TreeNode[]; next?: string }>(
        `/tree?path=${at(folder)}${after}`,
      );
      all.push(...nodes);
      if (!next) return all;
      after = `&after=${at(next)}`;
    }
  }

  async trash(): Promise<FileRecord[]> {
    return (await this.#json<{ files: FileRecord[] }>("/trash?limit=200")).files;
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

  async remove(id: string): Promise<void> {
    await this.#send("DELETE", `/files/${at(id)}`);
  }

  async restore(id: string): Promise<void> {
    await this.#send("POST", `/files/${at(id)}/restore`);
  }

  async restoreVersion(id: string, version: number): Promise<void> {
    await this.#send("POST", `/files/${at(id)}/versions/${version}/restore`);
  }

  /** Destroys files that are in the trash, with their keys. */
  async purge(ids: string[]): Promise<void> {
    await this.#send("POST", "/batch/purge", { ids });
  }

  async move(from: string, to: string): Promise<void> {
    await this.#send("POST", "/move", { from, to });
  }

  async content(id: string, version?: number): Promise<Blob> {
    const tail = version === undefined ? "content" : `versions/${version}/content`;
    return (await this.request(`/files/${at(id)}/${tail}`)).blob();
  }

  async byCid(cid: string): Promise<Blob> {
    return (await this.request(`/cid/${at(cid)}`)).blob();
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
