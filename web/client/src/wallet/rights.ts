import type { MintedToken } from "../core/credentials";
import type { Signer } from "./key";
import { inSeconds, issue, type Capability } from "./ucan";

/** What lets a user talk to an oracle, and an oracle act for its user there. */
export const talking: Capability = { can: "*", with: "ixo:oracle" };

/** The user's own namespace in the file store. */
export function namespace(did: string): string {
  return `vfs:///${did}`;
}

/** The user's files, to read or to change. */
export function filesOf(did: string, right: "read" | "write"): Capability {
  return { can: right === "read" ? "fs/read" : "fs/*", with: namespace(did) };
}

/** Signs a token that is good for some seconds. */
export async function mintToken(
  signer: Signer,
  audience: string,
  capabilities: Capability[],
  seconds: number,
): Promise<MintedToken> {
  const expires = inSeconds(seconds);
  return {
    serialized: await issue(signer, { audience, capabilities, expires }),
    expiresAt: expires * 1000,
  };
}
