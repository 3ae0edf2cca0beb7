import { sha256 } from "@noble/hashes/sha2.js";
import {
  base32,
  base58,
  base64,
  base64url,
  concat,
  fromBase58,
  fromBase64,
  readVarint,
  utf8,
  varint,
} from "./bytes";
import { car, decode, encode, Link, readCar, type CarBlock, type Value } from "./cbor";
import type { Signer } from "./key";

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
  /** Delegations to the issuer, as they travel. */
  proofs?: string[];
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
 * Issues a token and returns it as it travels: standard base64 of a CAR, its
 * proofs inside. A delegation and an invocation have the same form.
 */
export async function issue(key: Signer, s: Statement): Promise<string> {
  const att = s.capabilities.map(capability);
  const proofs = (s.proofs ?? []).map(parts);
  const payload: { [key: string]: Value } = {
    att,
    aud: s.audience,
    exp: s.expires,
    iss: key.did,
    prf: proofs.map((p) => `b${base32(p.leaf.cid)}`),
  };
  if (s.nonce) payload["nnc"] = s.nonce;
  const header = { alg: "EdDSA", typ: "JWT", ucv: version };
  const signing = [header, payload].map((part) => base64url(utf8(signedJSON(part)))).join(".");
  const signature = await key.sign(utf8(signing));
  const token: { [key: string]: Value } = {
    s: concat(varint(0xd0ed), varint(signature.length), signature),
    v: version,
    att,
    aud: didBytes(s.audience),
    exp: s.expires,
    iss: didBytes(key.did),
    prf: proofs.map((p) => new Link(p.leaf.cid)),
  };
  if (s.nonce) token["nnc"] = s.nonce;
  const leaf = encode(token);
  const leafCID = blockCID(leaf);
  const root = encode({ [`ucan@${version}`]: new Link(leafCID) });
  const rootCID = blockCID(root);
  return base64(
    car(rootCID, [
      ...proofs.flatMap((p) => p.blocks),
      { cid: leafCID, bytes: leaf },
      { cid: rootCID, bytes: root },
    ]),
  );
}

/** Whole seconds from now. */
export function inSeconds(seconds: number): number {
  return Math.floor(Date.now() / 1000) + seconds;
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** The blocks of a token without its envelope, and the one that is the token itself. */
function parts(token: string): { leaf: CarBlock; blocks: CarBlock[] } {
  const { root, blocks } = readCar(fromBase64(token));
  const envelope = blocks.find((b) => same(b.cid, root));
  const link = envelope && (decode(envelope.bytes) as Record<string, Value>)[`ucan@${version}`];
  const leaf = link instanceof Link && blocks.find((b) => same(b.cid, link.bytes));
  if (!envelope || !leaf) throw new Error("this is not a token");
  return { leaf, blocks: blocks.filter((b) => b !== envelope) };
}

function didText(bytes: Value | undefined): string {
  if (!(bytes instanceof Uint8Array)) return "";
  const [tag, at] = readVarint(bytes, 0);
  if (tag === 0x0d1d) return `did:${new TextDecoder().decode(bytes.subarray(at))}`;
  return `did:key:z${base58(bytes)}`;
}

/** What a token says. Nobody has checked its signature. */
export interface Token {
  cid: string;
  issuer: string;
  audience: string;
  capabilities: Capability[];
  /** Unix seconds; null never expires. */
  expires: number | null;
}

export function readToken(text: string): Token {
  const { leaf } = parts(text);
  const token = decode(leaf.bytes) as Record<string, Value>;
  const att = Array.isArray(token["att"]) ? token["att"] : [];
  return {
    cid: `b${base32(leaf.cid)}`,
    issuer: didText(token["iss"]),
    audience: didText(token["aud"]),
    capabilities: att.map((c) => c as unknown as Capability),
    expires: typeof token["exp"] === "number" ? token["exp"] : null,
  };
}
