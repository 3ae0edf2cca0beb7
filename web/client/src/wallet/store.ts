import type { KeyStore } from "./vault";

const table = "keys";
const slot = "current";

function openDatabase(name: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(table);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser keeps no data"));
  });
}

/** One record in a database of this origin. */
export function browserKeyStore(database: string): KeyStore {
  /** Runs work in one transaction; resolves when it is durable. */
  async function inTransaction<T>(
    mode: IDBTransactionMode,
    work: (store: IDBObjectStore) => IDBRequest<T>,
  ): Promise<T> {
    const db = await openDatabase(database);
    try {
      return await new Promise<T>((resolve, reject) => {
        const transaction = db.transaction(table, mode);
        const request = work(transaction.objectStore(table));
        const fail = () =>
          reject(transaction.error ?? request.error ?? new Error("the key could not be kept"));
        transaction.oncomplete = () => resolve(request.result);
        transaction.onerror = fail;
        transaction.onabort = fail;
      });
    } finally {
      db.close();
    }
  }
  return {
    read: () => inTransaction<unknown>("readonly", (keys) => keys.get(slot)),
    async change(decide) {
      await inTransaction("readwrite", (keys) => {
        const request: IDBRequest<unknown> = keys.get(slot);
        request.onsuccess = () => {
          const next = decide(request.result);
          if (next !== undefined) keys.put(next, slot);
        };
        return request;
      });
    },
    async forget() {
      await inTransaction("readwrite", (keys) => keys.delete(slot));
    },
  };
}
