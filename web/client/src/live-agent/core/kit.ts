import { Cell } from "../../core/observable";
import type { OracleSocket } from "../../core/socket";
import { FakeSocket } from "../../testkit/socket";
import { FakePeer } from "../../testkit/rtc";
import type { AgentHost } from "./agent";
import { toBase64, type Bytes } from "./bytes";
import { signedText, type CallIdentity } from "./identity";
import { Signals } from "./signals";

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

export function base58(bytes: Uint8Array): string {
  let number = bytes.reduce((n, byte) => n * 256n + BigInt(byte), 0n);
  let text = "";
  for (; number > 0n; number /= 58n) text = alphabet.charAt(Number(number % 58n)) + text;
  for (const byte of bytes) {
    if (byte !== 0) break;
    text = `1${text}`;
  }
  return text;
}

/** Somebody with a key that can sign. */
export async function signer() {
  const pair = (await crypto.subtle.generateKey("Ed25519", true, ["sign"])) as CryptoKeyPair;
  const key: Bytes = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
  const multibase = `z${base58(Uint8Array.of(0xed, 1, ...key))}`;
  const did = `did:key:${multibase}`;
  const sign = async (callId: string, more: Partial<CallIdentity> = {}): Promise<CallIdentity> => {
    const identity = { did, fingerprint: "sha-256 AB:CD", agreement: "", signature: "", ...more };
    const signature = await crypto.subtle.sign(
      "Ed25519",
      pair.privateKey,
      signedText(callId, identity),
    );
    return { ...identity, signature: toBase64(new Uint8Array(signature)) };
  };
  return { key, multibase, did, sign };
}

/** An oracle's side of calls, in the test. */
export async function callee() {
  const oracle = await signer();
  const socket = new FakeSocket("ws://o", { query: {}, auth: () => undefined });
  const connected = new Cell(true);
  const requests: { path: string; method?: string; body?: unknown }[] = [];
  const ends: unknown[] = [];
  let calls = 0;
  const callee = {
    ...oracle,
    socket,
    connected,
    requests,
    ends,
    released: 0,
    renewals: 0,
    answerSdp: "v=0\r\na=fingerprint:SHA-256 ab:cd\r\n",
    expiresAt: undefined as number | undefined,
    /** What is known of a call that was made before. */
    found: { callStatus: "active", callType: "audio", e2ee: false } as object,
    /** What POST /calls does instead, once. */
    refuse: undefined as Error | undefined,
    identity: (callId: string): Promise<CallIdentity> | CallIdentity => oracle.sign(callId),
    peer: (at = -1) => FakePeer.all.at(at) as FakePeer,
    /** The oracle says something about the newest call. */
    say: (name: string, more: object = {}) => socket.say(name, { callId: `c${calls}`, ...more }),
    host: {} as AgentHost,
  };
  socket.answer = async (name) => {
    if (name === "call_offer") return { ok: true, sdp: callee.answerSdp };
    if (name === "call_renew") return { ok: true, expiresAt: Date.now() + 600_000 };
    return { ok: true };
  };
  const api = {
    async json<T>(path: string, options: { method?: string; body?: unknown } = {}): Promise<T> {
      requests.push({ path, ...options });
      if (options.method === undefined && path.startsWith("/calls/")) {
        const callId = path.slice("/calls/".length);
        return { callId, identity: await callee.identity(callId), ...callee.found } as T;
      }
      if (options.method !== "POST") return {} as T;
      const { refuse } = callee;
      callee.refuse = undefined;
      if (refuse) throw refuse;
      const callId = `c${++calls}`;
      return {
        callId,
        iceServers: [{ urls: "turn:t" }],
        identity: await callee.identity(callId),
        speech: { stt: true, tts: false },
        expiresAt: callee.expiresAt,
        ...((options.body as { record?: boolean }).record
          ? { recording: { state: "on", path: `/recordings/${callId}.wav` } }
          : {}),
      } as T;
    },
  };
  callee.host = {
    line: () => ({
      signals: new Signals(api, { connected, line: socket } as unknown as OracleSocket),
      release: () => void callee.released++,
    }),
    keys: async () => [oracle.key],
    renew: async () => ({ invocation: `fresh${++callee.renewals}` }),
  };
  return callee;
}
