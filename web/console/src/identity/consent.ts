import { useSyncExternalStore } from "react";
import { mint, type Minted, type Session } from "./session";
import { filesOf, talking, type Capability } from "@castalia/oracles-client/wallet";
import { say } from "../words";

/** What the user lets the oracle do with their files. */
export type Grant = "read" | "write";

export interface Consent {
  grant: Grant;
  /** Milliseconds. */
  until: number;
}

interface State {
  consent: Consent | undefined;
  /** The user said "not now", on this visit. */
  declined: boolean;
}

const listeners = new Set<() => void>();
let state: State = { consent: undefined, declined: false };
let owner = "";

function slot(session: Session): string {
  return `castalia-consent ${session.key.did} ${session.serviceDid}`;
}

function publish(next: Partial<State>): void {
  state = { ...state, ...next };
  for (const listener of listeners) listener();
}

function current(session: Session): Consent | undefined {
  if (owner !== slot(session)) {
    owner = slot(session);
    state = { consent: read(session), declined: false };
  }
  const { consent } = state;
  return consent && consent.until > Date.now() ? consent : undefined;
}

function read(session: Session): Consent | undefined {
  try {
    const stored = JSON.parse(localStorage.getItem(slot(session)) ?? "null") as Consent | null;
    return stored && typeof stored.until === "number" ? stored : undefined;
  } catch {
    return undefined;
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** What is allowed now. */
export function useConsent(session: Session): State {
  return useSyncExternalStore(subscribe, () => {
    const consent = current(session);
    if (state.consent && !consent) state = { consent: undefined, declined: false };
    return state;
  });
}

/** The capabilities of a consent: always to talk, and files as far as allowed. */
export function granted(did: string, grant: Grant): Capability[] {
  return [talking, filesOf(did, grant)];
}

/**
 * Mints the delegation that the user allowed. Nothing is delegated that nobody
 * said yes to: without a consent it fails.
 */
export async function mintDelegation(session: Session): Promise<Minted> {
  const consent = current(session);
  if (!consent) throw new Error(say("identity.notAllowed"));
  const seconds = Math.floor((consent.until - Date.now()) / 1000);
  return mint(session, granted(session.key.did, consent.grant), seconds);
}

export function allow(session: Session, grant: Grant, hours: number): void {
  owner = slot(session);
  const consent = { grant, until: Date.now() + hours * 3600_000 };
  localStorage.setItem(slot(session), JSON.stringify(consent));
  publish({ consent, declined: false });
}

/** Not now: who was asked once is not asked again with every message. */
export function decline(): void {
  publish({ declined: true });
}

/** A "not now" is over. */
export function reconsider(): void {
  if (state.declined) publish({ declined: false });
}

/** Forgets the consent and the delegations that were minted under it. */
export function withdraw(session: Session): void {
  localStorage.removeItem(slot(session));
  localStorage.removeItem("oracles_ucan_delegations");
  publish({ consent: undefined, declined: false });
}
