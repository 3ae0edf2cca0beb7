import { filesOf, mintToken, talking, type Capability } from "@castalia/oracles-client/wallet";
import { operatingAs } from "./operating";
import { loadKey } from "./vault";

/**
 * The console's key for the page at /docs, which is served from the same origin and loads this
 * as a script of its own. The key does not leave the vault.
 */

/** How long a request may take to be sent. */
const seconds = 60;

/** Whose key this browser keeps; undefined when it keeps none. */
export async function keyDid(): Promise<string | undefined> {
  return (await loadKey())?.did;
}

/** What a route's right is as a capability, and no more than that. */
function capability(did: string, right: string, reads: boolean, role?: string): Capability {
  if (right === "operator") return operatingAs(role);
  return right === "files" ? filesOf(did, reads ? "read" : "write") : talking;
}

/** A token for one request to a route with this right; of operators' routes, with this role. */
export async function sign(
  audience: string,
  right: string,
  reads: boolean,
  role?: string,
): Promise<string> {
  const key = await loadKey();
  if (!key) throw new Error("this browser has no key any more: open the console");
  const can = capability(key.did, right, reads, role);
  return (await mintToken(key, audience, [can], seconds)).serialized;
}
