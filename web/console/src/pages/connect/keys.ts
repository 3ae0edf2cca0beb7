import { inSeconds, issue } from "@castalia/oracles-client/wallet";
import { mintInvocation, postSigned, type Session } from "../../identity/session";

/** An app key as the server lists it. */
export interface AppKey {
  id: string;
  name: string;
  /** active, spent, expired or revoked. */
  state: string;
  expires: string;
  lastUsed?: string;
}

async function answer<T>(reply: Response): Promise<T> {
  const body = (await reply.json().catch(() => ({}))) as T & { message?: string };
  if (!reply.ok) throw new Error(body.message ?? `The server answered ${reply.status}`);
  return body;
}

/** Makes a key with which a program talks to the oracle as the user; its text is told this once. */
export async function makeKey(session: Session, name: string, days: number): Promise<string> {
  const { id, holder } = await answer<{ id: string; holder: string }>(
    await postSigned(session, "/api/keys/offer", {}),
  );
  const delegation = await issue(session.key, {
    audience: holder,
    capabilities: [{ can: "*", with: "ixo:oracle" }],
    expires: inSeconds(days * 86_400),
  });
  const made = await postSigned(session, "/api/keys", {
    id,
    name,
    delegation,
    budget: { tokens: 0, costMicros: 0 },
  });
  return (await answer<{ key: string }>(made)).key;
}

async function signed(session: Session, method: string, path: string): Promise<Response> {
  const { serialized } = await mintInvocation(session);
  return fetch(path, {
    method,
    headers: { Authorization: `Bearer ${serialized}`, "X-Auth-Type": "ucan" },
  });
}

export async function listKeys(session: Session): Promise<AppKey[]> {
  return (await answer<{ keys: AppKey[] }>(await signed(session, "GET", "/api/keys"))).keys;
}

export async function revokeKey(session: Session, id: string): Promise<void> {
  const reply = await signed(session, "DELETE", `/api/keys/${encodeURIComponent(id)}`);
  if (!reply.ok) await answer(reply);
}
