import { inSeconds, issue } from "@castalia/oracles-client/wallet";
import type { Session } from "../../identity/session";
import { signed } from "./signed";

/** An app key as the server lists it. */
export interface AppKey {
  id: string;
  name: string;
  /** active, spent, expired or revoked. */
  state: string;
  expires: string;
  lastUsed?: string;
}

/** Makes a key with which a program talks to the oracle as the user; its text is told this once. */
export async function makeKey(session: Session, name: string, days: number): Promise<string> {
  const { id, holder } = await signed<{ id: string; holder: string }>(
    session,
    "POST",
    "/api/keys/offer",
    {},
  );
  const delegation = await issue(session.key, {
    audience: holder,
    capabilities: [{ can: "*", with: "ixo:oracle" }],
    expires: inSeconds(days * 86_400),
  });
  const made = await signed<{ key: string }>(session, "POST", "/api/keys", {
    id,
    name,
    delegation,
    budget: { tokens: 0, costMicros: 0 },
  });
  return made.key;
}

export async function listKeys(session: Session): Promise<AppKey[]> {
  return (await signed<{ keys: AppKey[] }>(session, "GET", "/api/keys")).keys;
}

export function revokeKey(session: Session, id: string): Promise<unknown> {
  return signed(session, "DELETE", `/api/keys/${encodeURIComponent(id)}`);
}
