import { fromBase58, fromBase64, utf8, type Bytes } from "./bytes";
import { CallError, CallIdentityError } from "./errors";

/** What the oracle says about itself when a call begins, signed by its key. */
export interface CallIdentity {
  did: string;
  /** Of the certificate that will encrypt the media, such as "sha-256 AB:CD:…". */
  fingerprint: string;
  /** Ed25519 over the text below, base64url. */
  signature: string;
  /** X25519 key of the frame layer, made for this call, base64url. */
  agreement: string;
  keyId?: string;
}

interface VerificationMethod {
  publicKeyMultibase?: unknown;
  publicKeyBase58?: unknown;
}

/** The Ed25519 key of a multibase text such as z6Mk…, or undefined. */
export function keyOf(multibase: unknown): Bytes | undefined {
  if (typeof multibase !== "string" || multibase[0] !== "z" || multibase.length > 64) return;
  const bytes = fromBase58(multibase.slice(1));
  return bytes?.length === 34 && bytes[0] === 0xed && bytes[1] === 1 ? bytes.slice(2) : undefined;
}

/**
 * The keys that speak for an oracle: those in its did:key, in the document of
 * its did:web, or in its entity on the chain. What the oracle's own server says
 * about its keys is not asked.
 */
export async function oracleKeys(did: string, gateway: string | undefined): Promise<Bytes[]> {
  const [, method, rest = ""] = did.split(":");
  let keys: (Bytes | undefined)[] = [];
  if (method === "key") keys = [keyOf(rest)];
  else if (method === "web") keys = methods(await document(webAddress(did)));
  else if (gateway) {
    const base = gateway.replace(/\/+$/, "");
    const reply = await document(`${base}/entity/${encodeURIComponent(did)}`);
    keys = methods(reply["iidDocument"] ?? reply["iid_document"]);
  }
  const known = keys.filter((key) => key !== undefined);
  if (known.length === 0) {
    throw new CallIdentityError(`no key of ${did} is known; oracleKey can name it`);
  }
  return known;
}

function webAddress(did: string): string {
  const [host = "", ...path] = did.split(":").slice(2).map(decodeURIComponent);
  return `https://${host}/${path.length > 0 ? path.join("/") : ".well-known"}/did.json`;
}

async function document(address: string): Promise<Record<string, unknown>> {
  try {
    const reply = await fetch(address);
    if (reply.ok) return ((await reply.json()) ?? {}) as Record<string, unknown>;
    throw new Error(`it answered ${reply.status}`);
  } catch (cause) {
    throw new CallIdentityError(`its keys could not be read from ${address}`, { cause });
  }
}

function methods(document: unknown): (Bytes | undefined)[] {
  const { verificationMethod, verification_method } = (document ?? {}) as Record<string, unknown>;
  const list = verificationMethod ?? verification_method;
  if (!Array.isArray(list)) return [];
  return list.map((one: VerificationMethod | null) => {
    if (typeof one?.publicKeyBase58 === "string" && one.publicKeyBase58.length <= 50) {
      const bytes = fromBase58(one.publicKeyBase58);
      return bytes?.length === 32 ? bytes : undefined;
    }
    return keyOf(one?.publicKeyMultibase);
  });
}

/** The bytes that the oracle signs. */
export function signedText(callId: string, identity: CallIdentity): Bytes {
  const { did, fingerprint, agreement } = identity;
  return utf8(["castalia-call-v1", callId, did, fingerprint, agreement, ""].join("\n"));
}

/** Refuses an identity that none of the oracle's keys has signed for this call. */
export async function verifyIdentity(
  keys: Bytes[],
  callId: string,
  identity: CallIdentity | undefined,
): Promise<void> {
  const signature = fromBase64(identity?.signature ?? "");
  if (!identity || signature?.length !== 64) throw new CallIdentityError("it signed nothing");
  const text = signedText(callId, identity);
  for (const raw of keys) {
    let key: CryptoKey;
    try {
      key = await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);
    } catch (cause) {
      throw new CallError("unsupported", "This browser cannot verify Ed25519 signatures.", {
        cause,
      });
    }
    if (await crypto.subtle.verify("Ed25519", key, signature, text)) return;
  }
  throw new CallIdentityError("the signature is not its own");
}

/** The fingerprints in a session description, in one spelling. */
export function fingerprints(sdp: string): string[] {
  return [...sdp.matchAll(/^a=fingerprint:(\S+) (\S+)/gm)].map(([, hash, hex]) =>
    spell(`${hash} ${hex}`),
  );
}

function spell(fingerprint: string): string {
  const [hash = "", hex = ""] = fingerprint.split(" ");
  return `${hash.toLowerCase()} ${hex.toUpperCase()}`;
}

/** Refuses an answer whose media would be encrypted for anybody but the signer. */
export function checkAnswer(sdp: string, identity: CallIdentity): void {
  const wanted = spell(identity.fingerprint);
  const found = fingerprints(sdp);
  if (found.length === 0 || found.some((one) => one !== wanted)) {
    throw new CallIdentityError("the answer has another fingerprint than the signed one");
  }
}
