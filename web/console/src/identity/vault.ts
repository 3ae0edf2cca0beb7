import {
  browserKeyStore,
  fromPrivateText,
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
/** A key as the console shows it, or as the command line writes it. */
export function bringKey(text: string): Promise<KeptKey> {
  const given = text.trim();
  return vault.keep(given.startsWith("M") ? fromPrivateText(given) : parseKey(given), true);
}
export const backupKey = (did: string) => vault.backup(did);
export const lockKey = (did: string) => vault.lock(did);
export const forgetKey = () => vault.forget();
