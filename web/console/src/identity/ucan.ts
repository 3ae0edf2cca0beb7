import { sha256 } from "@noble/hashes/sha2.js";
import { base32, base64, base64url, concat, fromBase58, utf8, varint } from "./bytes";
import { car, encode, Link, type Value } from "./cbor";
import type { Key } from "./key";

/** What a token allows: an ability on a resource, within caveats. */
export interface Capability {
  can: string;
  with: string;
  nb?: { [key: string]: Value };
}

export interface Statement {
  audience: string;
  capabilities: Capability[];
  /** Unix seconds; null never expires. */
  expires: number | null;
  nonce?: string;
}

const version = "0.9.1";

/** The bytes of a DID inside a token. */
function didBytes(did: string): Uint8Array {
  const key = /^did:key:z(.+)$/.exec(did);
  if (key?.[1]) return fromBase58(key[1]);
  if (!/^did:[a-z0-9]+:.+$/.test(did)) throw new Error(`not a DID: ${did}`);
  return concat(varint(0x0d1d), utf8(did.slice(4)));
}

/** JSON as signed: keys sorted, no white space, links as {"/": cid}. */
function signedJSON(value: Value): string {
  if (value instanceof Uint8Array) {
    return `{"/":{"bytes":"${base64(value).replace(/=+$/, "")}"}}`;
  }
  if (value instanceof Link) return `{"/":"b${base32(value.bytes)}"}`;
  if (Array.isArray(value)) return `[${value.map(signedJSON).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const keys = Object.keys(value).sort();
    return `{${keys.map((k) => `${JSON.stringify(k)}:${signedJSON(value[k] ?? null)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

/** CIDv1, dag-cbor, sha2-256. */
function blockCID(bytes: Uint8Array): Uint8Array {
  return concat(Uint8Array.of(0x01, 0x71, 0x12, 0x20), sha256(bytes));
}

function capability(c: Capability): { [key: string]: Value } {
  return c.nb ? { can: c.can, with: c.with, nb: c.nb } : { can: c.can, with: c.with };
}

/**
 * Issues a self-signed token and returns it as it travels: standard base64 of a
 * CAR. A delegation and an invocation have the same form.
 */
export function issue(key: Key, s: Statement): string {
  const att = s.capabilities.map(capability);
  const payload: { [key: string]: Value } = {
    att,
    aud: s.audience,
    exp: s.expires,
    iss: key.did,
    prf: [],
  };
  if (s.nonce) payload["nnc"] = s.nonce;
  const header = { alg: "EdDSA", typ: "JWT", ucv: version };
  const signing = [header, payload].map((part) => base64url(utf8(signedJSON(part)))).join(".");
  const signature = key.sign(utf8(signing));
  const token: { [key: string]: Value } = {
    s: concat(varint(0xd0ed), varint(signature.length), signature),
    v: version,
    att,
    aud: didBytes(s.audience),
    exp: s.expires,
    iss: didBytes(key.did),
    prf: [],
  };
  if (s.nonce) token["nnc"] = s.nonce;
  const leaf = encode(token);
  const leafCID = blockCID(leaf);
  const root = encode({ [`ucan@${version}`]: new Link(leafCID) });
  const rootCID = blockCID(root);
  return base64(
    car(rootCID, [
      { cid: leafCID, bytes: leaf },
      { cid: rootCID, bytes: root },
    ]),
  );
}

/** Whole seconds from now. */
export function inSeconds(seconds: number): number {
  return Math.floor(Date.now() / 1000) + seconds;
}
