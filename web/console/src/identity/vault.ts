import {
  browserKeyStore,
  newKey,
  parseKey,
  Vault,
  type KeptKey,
  type Protection,
} from "@castalia/oracles-client/wallet";

export type { KeptKey, Protection };

/** Where the console keeps the user's key. */
const vault = new Vault(
  browserKeyStore("castalia-console"),
  globalThis.isSecureContext ? globalThis.crypto.subtle : undefined,
);

export const loadKey = () => vault.load();
export const makeKey = () => vault.keep(newKey(), false);
export const bringKey = (text: string) => vault.keep(parseKey(text), true);
export const backupKey = (did: string) => vault.backup(did);
export const lockKey = (did: string) => vault.lock(did);
export const forgetKey = () => vault.forget();
