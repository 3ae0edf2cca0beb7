import { createContext, useContext } from "react";
import { inSeconds, issue, type Capability } from "./ucan";
import type { KeptKey } from "./vault";

/** Who is signed in, and which service the tokens are for. */
export interface Session {
  key: KeptKey;
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
export async function mint(
  session: Session,
  capabilities: Capability[],
  seconds: number,
): Promise<Minted> {
  const expires = inSeconds(seconds);
  return {
    serialized: await issue(session.key, { audience: session.serviceDid, capabilities, expires }),
    expiresAt: expires * 1000,
  };
}

/** Proves who calls the oracle; short-lived. */
export function mintInvocation(session: Session): Promise<Minted> {
  return mint(session, [{ can: "*", with: "ixo:oracle" }], 10 * 60);
}

/** Posts to the service behind this page, as whoever is signed in. */
export async function postSigned(session: Session, url: string, body: object): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Authorization: `Bearer ${(await mintInvocation(session)).serialized}`,
      "X-Auth-Type": "ucan",
    },
    body: JSON.stringify(body),
  });
}

/** The user's own namespace in the file store. */
export function namespace(did: string): string {
  return `vfs:///${did}`;
}

const fileTokens = new Map<string, Minted>();

/** A bearer for the file store, kept until shortly before it ends. */
export async function fileToken(session: Session): Promise<string> {
  const slot = `${session.key.did} ${session.serviceDid}`;
  const cached = fileTokens.get(slot);
  if (cached && cached.expiresAt - 60_000 > Date.now()) return cached.serialized;
  const fresh = await mint(session, [{ can: "fs/*", with: namespace(session.key.did) }], 3600);
  fileTokens.set(slot, fresh);
  return fresh.serialized;
}
