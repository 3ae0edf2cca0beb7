import { mintInvocation, type Session } from "./session";
import { refusal } from "../shell/refusal";

/** A request that a new key takes the place of a lost one. */
export interface KeyRequest {
  id: string;
  account: string;
  /** Masked, and for operators alone. */
  phoneNumber?: string;
  person: string;
  key: string;
  linkedAt: string;
  askedAt: string;
  readyAt: string;
  expiresAt: string;
  state: string;
  decidedAt?: string;
  decidedBy?: string;
  /** Whether the operator who asked for the list may undo it. */
  mayUndo?: boolean;
}

export interface KeyRequests {
  requests: KeyRequest[];
}

/** A code that is typed at the telephone, once. */
export interface KeyCode {
  code: string;
  account: string;
  expiresAt: string;
}

const path = "/api/key-requests";

/** Asks as whoever is signed in, in person. */
export async function askInPerson<T>(
  session: Session,
  to: string,
  method = "GET",
  body?: object,
): Promise<T> {
  const reply = await fetch(to, {
    method,
    headers: {
      Authorization: `Bearer ${(await mintInvocation(session)).serialized}`,
      "X-Auth-Type": "ucan",
      ...(body ? { "Content-Type": "application/json" } : {}),
    },
    body: body ? JSON.stringify(body) : null,
  });
  if (reply.ok) return (reply.status === 204 ? undefined : await reply.json()) as T;
  throw await refusal(reply);
}

/** The requests that are about whoever is signed in: for their key, or made with it. */
export async function fetchKeyRequests(session: Session): Promise<KeyRequest[]> {
  return (await askInPerson<KeyRequests>(session, path)).requests;
}

export function askForCode(session: Session, account: string): Promise<KeyCode> {
  return askInPerson(session, path, "POST", { account });
}

export function refuseKey(session: Session, id: string): Promise<KeyRequest> {
  return askInPerson(session, `${path}/${encodeURIComponent(id)}/refuse`, "POST");
}

export function unlinkTelephone(session: Session, account: string): Promise<unknown> {
  return askInPerson(session, `/api/telephones/${encodeURIComponent(account)}`, "DELETE");
}

/** Those by which somebody else would take the place of whoever has this key. */
export function foreign(requests: readonly KeyRequest[], key: string): KeyRequest[] {
  return requests.filter((r) => r.state === "waiting" && r.key !== key);
}
