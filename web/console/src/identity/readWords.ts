import { mnemonicToEntropy } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english";
import { say } from "../words";

const howMany = 24;

/** No text of that many numbered words is longer. */
const longest = 4096;

const listed = new Set(wordlist);

/** The words of a text as people write it: numbers before them and signs around them do not count. */
export function splitWords(text: string): string[] {
  return text
    .toLowerCase()
    .split(/[\s,]+/)
    .map((word) => word.replace(/^[\p{Nd}\p{P}\p{Cf}]+|[\p{P}\p{Cf}]+$/gu, ""))
    .filter((word) => word !== "");
}

/** The seed of words that were brought. What is wrong is said by its place, never by the word. */
export function seedOf(text: string): Uint8Array {
  const words = splitWords(text.slice(0, longest));
  if (words.length === 12) throw new Error(say("bring.twelve"));
  if (words.length !== howMany) throw new Error(say("bring.wrongCount", { n: words.length }));
  const wrong = words.findIndex((word) => !listed.has(word));
  if (wrong >= 0) throw new Error(say("bring.wrongWord", { place: String(wrong + 1) }));
  try {
    return mnemonicToEntropy(words.join(" "), wordlist);
  } catch {
    throw new Error(say("bring.wrongSum"));
  }
}
