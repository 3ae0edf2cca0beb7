import { fromBase64, toBase64, utf8, type Bytes } from "./bytes";
import { CallError } from "./errors";
import { frameWorker, type FrameTask } from "./frameWorker";

const unsupported = "This browser cannot encrypt frames; call without e2ee.";

/**
 * The second layer of encryption, below DTLS-SRTP: frames are sealed with keys
 * that follow from two ephemeral X25519 keys, the oracle's signed by its DID,
 * the tab's sent over the authenticated socket. Nothing in between has them,
 * not even a media server that ends DTLS itself.
 */
export class FrameLayer {
  private constructor(
    readonly publicKey: string,
    private readonly keys: Map<string, CryptoKey>,
    private readonly worker: Worker,
  ) {}

  static async agree(
    callId: string,
    oracleKey: string | undefined,
    workerUrl: string | URL | undefined,
  ): Promise<FrameLayer> {
    const theirs = fromBase64(oracleKey ?? "");
    if (theirs?.length !== 32) {
      throw new CallError("e2ee_unavailable", "The oracle offers no encryption of frames.");
    }
    if (typeof RTCRtpScriptTransform === "undefined") {
      throw new CallError("e2ee_unavailable", unsupported);
    }
    const { subtle } = crypto;
    try {
      const mine = (await subtle.generateKey("X25519", false, ["deriveBits"])) as CryptoKeyPair;
      const raw = new Uint8Array(await subtle.exportKey("raw", mine.publicKey));
      const keys = await frameKeys(callId, mine.privateKey, raw, theirs);
      return new FrameLayer(toBase64(raw), keys, startWorker(workerUrl));
    } catch (cause) {
      throw new CallError("e2ee_unavailable", unsupported, { cause });
    }
  }

  /** Seals what a sender sends, opens what a receiver gets. */
  attach(end: RTCRtpSender | RTCRtpReceiver, kind: string, seal: boolean): void {
    const key = this.keys.get(`${seal ? "tab" : "oracle"}\n${kind}`);
    const task: FrameTask = { seal, kind, key: key as CryptoKey };
    end.transform = new RTCRtpScriptTransform(this.worker, task);
  }

  close(): void {
    this.worker.terminate();
  }
}

/** The four keys of a call at the tab's end: by direction and kind. */
export async function frameKeys(
  callId: string,
  mine: CryptoKey,
  myPublic: Bytes,
  theirs: Bytes,
): Promise<Map<string, CryptoKey>> {
  const { subtle } = crypto;
  const other = await subtle.importKey("raw", theirs, "X25519", false, []);
  const shared = await subtle.deriveBits({ name: "X25519", public: other }, mine, 256);
  const secret = await subtle.importKey("raw", shared, "HKDF", false, ["deriveKey"]);
  const salt = new Uint8Array([...myPublic, ...theirs]);
  const keys = new Map<string, CryptoKey>();
  for (const purpose of ["tab\naudio", "tab\nvideo", "oracle\naudio", "oracle\nvideo"]) {
    const info = utf8(`castalia-frames-v1\n${callId}\n${purpose}`);
    const key = await subtle.deriveKey(
      { name: "HKDF", hash: "SHA-256", salt, info },
      secret,
      { name: "AES-GCM", length: 256 },
      false,
      ["encrypt", "decrypt"],
    );
    keys.set(purpose, key);
  }
  return keys;
}

function startWorker(url: string | URL | undefined): Worker {
  if (url) return new Worker(url);
  const text = new Blob([`(${frameWorker.toString()})(self)`], { type: "text/javascript" });
  const address = URL.createObjectURL(text);
  const worker = new Worker(address);
  URL.revokeObjectURL(address);
  return worker;
}
