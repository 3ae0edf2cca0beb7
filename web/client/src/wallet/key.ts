import * as ed from "@noble/ed25519";
import { sha512 } from "@noble/hashes/sha2.js";
import { base58, base64, concat, fromBase64, fromHex, hex } from "./bytes";

// Pure code instead of the browser's own cryptography: that is only there on
// https and localhost, and a community server may be neither.
ed.etc.sha512Sync = (...messages) => sha512(ed.etc.concatBytes(...messages));

/** Who signs, and the DID that the signatures speak for. */
export interface Signer {
  readonly did: string;
  sign(message: Uint8Array): Promise<Uint8Array>;
}

/** An Ed25519 key in plain sight. */
export interface Key extends Signer {
  readonly seed: Uint8Array;
}

/** The did:key of an Ed25519 public key. */
export function didOf(publicKey: Uint8Array): string {
  return "did:key:z" + base58(concat(Uint8Array.of(0xed, 0x01), publicKey));
}

export function keyFromSeed(seed: Uint8Array): Key {
  if (seed.length !== 32) throw new Error("a key has 32 bytes");
  return {
    seed,
    did: didOf(ed.getPublicKey(seed)),
    sign: async (message) => ed.sign(message, seed),
  };
}

export function newKey(): Key {
  return keyFromSeed(crypto.getRandomValues(new Uint8Array(32)));
}

/** Reads a key as it is exported: 64 hexadecimal digits. */
export function parseKey(text: string): Key {
  const trimmed = text.trim();
  if (!/^[0-9a-f]{64}$/i.test(trimmed)) {
    throw new Error("A key is 64 hexadecimal digits, as shown when it was exported.");
  }
  return keyFromSeed(fromHex(trimmed));
}

export function exportKey(key: Key): string {
  return hex(key.seed);
}

const privateTag = Uint8Array.of(0x80, 0x26);
const publicTag = Uint8Array.of(0xed, 0x01);

/** The key as other programs write it: multibase of tagged seed and public key. */
export function privateText(key: Key): string {
  return "M" + base64(concat(privateTag, key.seed, publicTag, ed.getPublicKey(key.seed)));
}

/** Reads what privateText wrote. */
export function fromPrivateText(text: string): Key {
  const bytes = fromBase64(text.slice(1));
  if (text[0] !== "M" || bytes.length !== 68 || bytes[0] !== 0x80 || bytes[1] !== 0x26) {
    throw new Error("this is not a key");
  }
  return keyFromSeed(bytes.slice(2, 34));
}
