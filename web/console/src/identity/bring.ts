import { fromPrivateText, keyFromSeed, parseKey, type Key } from "@castalia/oracles-client/wallet";
import { say } from "../words";
import { keepKey, type KeptKey } from "./vault";

/** No key is longer, in bytes: words with their numbers are not. */
export const longest = 1024;

/** A key as the console shows it, as the command line writes it, or in words. */
export async function readKey(text: string): Promise<Key> {
  const given = text.trim();
  if (/[\s,]/.test(given)) return keyFromSeed((await import("./readWords")).seedOf(given));
  try {
    return given.startsWith("M") ? fromPrivateText(given) : parseKey(given);
  } catch {
    throw new Error(say("bring.notAKey"));
  }
}

export async function bringKey(text: string): Promise<KeptKey> {
  return keepKey(await readKey(text));
}
