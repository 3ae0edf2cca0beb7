import { entropyToMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english";

/**
 * A key as words to write down: its seed is the entropy of BIP-39, so the words are the key
 * itself and not what wallets derive theirs from. The command line writes and reads the same
 * ones. Decision: ADR 0304.
 */

export function wordsOf(seed: Uint8Array): string[] {
  return entropyToMnemonic(seed, wordlist).split(" ");
}
