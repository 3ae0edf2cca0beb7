import { createContext, useContext } from "react";
import { exportKey, newKey, parseKey, type Key } from "./key";
import { inSeconds, issue, type Capability } from "./ucan";

/** Who is signed in, and which service the tokens are for. */
export interface Session {
  key: Key;
  serviceDid: string;
}

const SessionContext = createContext<Session | undefined>(undefined);
export const SessionProvider = SessionContext.Provider;

/** The signed-in user; pages are shown only when there is one. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("nobody is signed in");
  return session;
}

const database = "castalia-console";
const table = "keys";

function openDatabase(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(database, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(table);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser keeps no data"));
  });
}

async function withStore<T>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const db = await openDatabase();
  try {
    return await new Promise<T>((resolve, reject) => {
      const request = work(db.transaction(table, mode).objectStore(table));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error ?? new Error("the key could not be kept"));
    });
  } finally {
    db.close();
  }
}

/** The key that this browser keeps, if there is one. */
export async function loadKey(): Promise<Key | undefined> {
  const text = await withStore<unknown>("readonly", (s) => s.get("current"));
  return typeof text === "string" ? parseKey(text) : undefined;
}

export async function keepKey(key: Key): Promise<Key> {
  await withStore("readwrite", (s) => s.put(exportKey(key), "current"));
  return key;
}

export async function forgetKey(): Promise<void> {
  await withStore("readwrite", (s) => s.delete("current"));
}

export function makeKey(): Promise<Key> {
  return keepKey(newKey());
}

/** The DID of the service behind this page. */
export async function fetchServiceDid(): Promise<string> {
  const reply = await fetch("/.well-known/did.json");
  if (!reply.ok) throw new Error(`The server answered ${reply.status}`);
  return ((await reply.json()) as { id: string }).id;
}

export interface Minted {
  serialized: string;
  /** Milliseconds. */
  expiresAt: number;
}

/** Mints a token for the service behind this page. */
export function mint(session: Session, capabilities: Capability[], seconds: number): Minted {
  const expires = inSeconds(seconds);
  return {
    serialized: issue(session.key, { audience: session.serviceDid, capabilities, expires }),
    expiresAt: expires * 1000,
  };
}

/** Proves who calls the oracle; short-lived. */
export function mintInvocation(session: Session): Minted {
  return mint(session, [{ can: "*", with: "ixo:oracle" }], 10 * 60);
}

/** The user's own namespace in the file store. */
export function namespace(did: string): string {
  return `vfs:///${did}`;
}

const fileTokens = new Map<string, Minted>();

/** A bearer for the file store, kept until shortly before it ends. */
export function fileToken(session: Session): string {
  const slot = `${session.key.did} ${session.serviceDid}`;
  const cached = fileTokens.get(slot);
  if (cached && cached.expiresAt - 60_000 > Date.now()) return cached.serialized;
  const fresh = mint(session, [{ can: "fs/*", with: namespace(session.key.did) }], 3600);
  fileTokens.set(slot, fresh);
  return fresh.serialized;
}
