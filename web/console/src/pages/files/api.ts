import { fileToken, type Session } from "../../identity/session";

export interface FileRecord {
  id: string;
  path: string;
  name: string;
  mimeType: string;
  size: number;
  version: number;
  cid: string;
  updatedAt: string;
}

export interface VersionRecord {
  version: number;
  size: number;
  cid: string;
  createdAt: string;
}

export interface SearchHit {
  path: string;
  snippet?: string;
  startLine?: number;
}

/** The file store in the user's name. */
export class Files {
  constructor(private readonly session: Session) {}

  async request(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("Authorization", `Bearer ${fileToken(this.session)}`);
    const reply = await fetch(`/api/fs${path}`, { ...init, headers });
    if (!reply.ok) {
      const body = (await reply.json().catch(() => ({}))) as { message?: string };
      throw new Error(body.message ?? `The server answered ${reply.status}`);
    }
    return reply;
  }

  async list(): Promise<FileRecord[]> {
    return ((await (await this.request("/files?limit=200")).json()) as { files: FileRecord[] })
      .files;
  }

  async trash(): Promise<FileRecord[]> {
    return ((await (await this.request("/trash")).json()) as { files: FileRecord[] }).files;
  }

  async versions(id: string): Promise<VersionRecord[]> {
    const reply = await this.request(`/files/${id}/versions`);
    return ((await reply.json()) as { versions: VersionRecord[] }).versions;
  }

  async search(text: string): Promise<SearchHit[]> {
    const reply = await this.request(`/search?q=${encodeURIComponent(text)}`);
    return ((await reply.json()) as { hits: SearchHit[] }).hits;
  }

  async post(path: string, body?: unknown): Promise<void> {
    await this.request(path, {
      method: "POST",
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
    });
  }

  async remove(id: string): Promise<void> {
    await this.request(`/files/${id}`, { method: "DELETE" });
  }

  async content(id: string): Promise<Blob> {
    return (await this.request(`/files/${id}/content`)).blob();
  }

  /** Uploads with progress, which fetch can not tell. */
  upload(path: string, file: File, onProgress: (share: number) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open("PUT", `/api/fs/content?path=${encodeURIComponent(path)}`);
      request.setRequestHeader("Authorization", `Bearer ${fileToken(this.session)}`);
      request.setRequestHeader("Content-Type", file.type || "application/octet-stream");
      request.upload.onprogress = (event) => onProgress(event.loaded / Math.max(1, event.total));
      request.onerror = () => reject(new Error("The connection broke; nothing was stored."));
      request.onload = () =>
        request.status < 300
          ? resolve()
          : reject(new Error(`The server answered ${request.status}`));
      request.send(file);
    });
  }
}
