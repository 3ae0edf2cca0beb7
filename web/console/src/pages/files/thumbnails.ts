import type { Files, TreeNode } from "./api";

/** So many are asked for at once; others wait, and of those that wait too long nobody is told. */
const lines = 3;
const mostWaiting = 60;

/** So many are kept. */
const most = 400;

/** Small pictures of pictures, made by the server and kept by their content. */
export class Thumbnails {
  readonly #files: Files;
  readonly #kept = new Map<string, Promise<string | undefined>>();
  /** The newest is asked for first: it is what is in sight. */
  readonly #waiting: { begin: () => void; drop: () => void }[] = [];
  #busy = 0;

  constructor(files: Files) {
    this.#files = files;
  }

  /** The address of a node's small picture; undefined when there is none. */
  of(node: TreeNode): Promise<string | undefined> | undefined {
    const { id, cid, mimeType = "", size = 0 } = node;
    if (!id || !cid || size > 32 * 1024 * 1024) return undefined;
    if (!/^image\/(png|jpeg|gif|webp)$/.test(mimeType)) return undefined;
    const known = this.#kept.get(cid);
    if (known) {
      // Those that were looked at last are kept longest.
      this.#kept.delete(cid);
      this.#kept.set(cid, known);
      return known;
    }
    const made = this.#turn(cid, async () => {
      try {
        return URL.createObjectURL(await this.#files.thumbnail(id));
      } catch {
        return undefined; // a picture that cannot be made small has its icon
      }
    });
    this.#kept.set(cid, made);
    if (this.#kept.size > most) this.#forget([...this.#kept.keys()][0] ?? "");
    return made;
  }

  /** Forgets all of them. */
  clear(): void {
    for (const { drop } of this.#waiting.splice(0)) drop();
    for (const cid of [...this.#kept.keys()]) this.#forget(cid);
  }

  #turn(cid: string, work: () => Promise<string | undefined>): Promise<string | undefined> {
    return new Promise((resolve) => {
      const begin = () => {
        this.#busy++;
        void work().then((address) => {
          this.#busy--;
          resolve(address);
          this.#waiting.pop()?.begin();
        });
      };
      const drop = () => {
        this.#kept.delete(cid);
        resolve(undefined);
      };
      if (this.#busy < lines) return begin();
      this.#waiting.push({ begin, drop });
      if (this.#waiting.length > mostWaiting) this.#waiting.shift()?.drop();
    });
  }

  #forget(cid: string): void {
    const made = this.#kept.get(cid);
    this.#kept.delete(cid);
    void made?.then((address) => address && URL.revokeObjectURL(address));
  }
}
