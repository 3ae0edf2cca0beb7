import {
  browserKeyStore,
  newKey,
  Vault,
  type Key,
  type KeptKey,
  type Protection,
} from "@castalia/oracles-client/wallet";
import { askForCopyIn } from "./copyDue";

export type { KeptKey, Protection };

/** Where the console keeps the user's key. */
const vault = new Vault(
  browserKeyStore("castalia-console"),
  globalThis.isSecureContext ? globalThis.crypto.subtle : undefined,
);

export const loadKey = () => vault.load();
export function makeKey(): Promise<KeptKey> {
  askForCopyIn(1);
  return vault.keep(newKey(), false);
}
/** Keeps a key that its owner brought, and has a copy of. */
export const keepKey = (key: Key) => vault.keep(key, true);
export const backupKey = (did: string) => vault.backup(did);
export const lockKey = (did: string) => vault.lock(did);
export const forgetKey = () => vault.forget();
