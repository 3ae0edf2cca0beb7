const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Bytes over a buffer of their own, as the browser's cryptography wants them. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** Reads base58 (Bitcoin's alphabet); undefined when it is none. */
export function fromBase58(text: string): Bytes | undefined {
  let number = 0n;
  for (const letter of text) {
    const digit = alphabet.indexOf(letter);
    if (digit < 0) return undefined;
    number = number * 58n + BigInt(digit);
  }
  const bytes: number[] = [];
  for (; number > 0n; number >>= 8n) bytes.unshift(Number(number & 255n));
  return Uint8Array.from([...(/^1*/.exec(text)?.[0] ?? "")].map(() => 0).concat(bytes));
}

/** Reads base64url, padded or not; undefined when it is none. */
export function fromBase64(text: string): Bytes | undefined {
  try {
    const plain = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
    return Uint8Array.from(plain, (c) => c.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Writes base64url without padding. */
export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");
}

export function utf8(text: string): Bytes {
  return new TextEncoder().encode(text);
}
