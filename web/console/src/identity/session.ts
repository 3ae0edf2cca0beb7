import { createContext, useContext } from "react";
import {
  filesOf,
  mintToken,
  talking,
  type Capability,
  type MintedToken,
} from "@castalia/oracles-client/wallet";
import { operating } from "./operating";
import type { KeptKey } from "./vault";
import { refusal } from "../shell/refusal";

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
  if (!reply.ok) throw await refusal(reply);
  return ((await reply.json()) as { id: string }).id;
}

export type Minted = MintedToken;

/** Mints a token for the service behind this page. */
export function mint(
  session: Session,
  capabilities: Capability[],
  seconds: number,
): Promise<Minted> {
  return mintToken(session.key, session.serviceDid, capabilities, seconds);
}

/** Proves who calls the oracle; short-lived. */
export function mintInvocation(session: Session): Promise<Minted> {
  return mint(session, [talking], 10 * 60);
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

const kept = new Map<string, Minted>();

/** A token that is kept until shortly before it ends. */
async function keptToken(session: Session, capability: Capability, seconds: number) {
  const slot = `${session.key.did} ${session.serviceDid} ${capability.with}`;
  const cached = kept.get(slot);
  if (cached && cached.expiresAt - 60_000 > Date.now()) return cached.serialized;
  const fresh = await mint(session, [capability], seconds);
  kept.set(slot, fresh);
  return fresh.serialized;
}

/** A bearer for the file store. */
export function fileToken(session: Session): Promise<string> {
  return keptToken(session, filesOf(session.key.did, "write"), 3600);
}

/** A bearer for operators' routes; it is worth what the role of the signed-in key is worth. */
export function operatorToken(session: Session): Promise<string> {
  return keptToken(session, operating, 10 * 60);
}
