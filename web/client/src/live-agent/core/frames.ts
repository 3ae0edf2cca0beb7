import { fromBase64, toBase64, utf8 } from "./bytes";
import { CallError } from "./errors";
import { frameWorker, type FrameTask } from "./frameWorker";

const unsupported = "This browser can not encrypt frames; call without e2ee.";

/**
 * The second layer of encryption, below DTLS-SRTP: frames are sealed with keys
 * that follow from two ephemeral X25519 keys, the oracle's signed by its DID,
 * the tab's sent over the authenticated socket. Nothing in between has them,
 * not even a media server that ends DTLS itself.
 */
export class FrameLayer {
  readonly #keys = new Map<string, CryptoKey>();

  private constructor(
    readonly publicKey: string,
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
    let secret: CryptoKey;
    let mine: CryptoKeyPair;
    try {
      mine = (await subtle.generateKey("X25519", false, ["deriveBits"])) as CryptoKeyPair;
      const other = await subtle.importKey("raw", theirs, "X25519", false, []);
      const shared = await subtle.deriveBits(
        { name: "X25519", public: other },
        mine.privateKey,
        256,
      );
      secret = await subtle.importKey("raw", shared, "HKDF", false, ["deriveKey"]);
    } catch (cause) {
      throw new CallError("e2ee_unavailable", unsupported, { cause });
    }
    const raw = new Uint8Array(await subtle.exportKey("raw", mine.publicKey));
    const layer = new FrameLayer(toBase64(raw), startWorker(workerUrl));
    const salt = new Uint8Array([...raw, ...theirs]);
    for (const purpose of ["tab\naudio", "tab\nvideo", "oracle\naudio", "oracle\nvideo"]) {
      const info = utf8(`castalia-frames-v1\n${callId}\n${purpose}`);
      const key = await subtle.deriveKey(
        { name: "HKDF", hash: "SHA-256", salt, info },
        secret,
        { name: "AES-GCM", length: 256 },
        false,
        ["encrypt", "decrypt"],
      );
      layer.#keys.set(purpose, key);
    }
    return layer;
  }

  /** Seals what a sender sends, opens what a receiver gets. */
  attach(end: RTCRtpSender | RTCRtpReceiver, kind: string, seal: boolean): void {
    const key = this.#keys.get(`${seal ? "tab" : "oracle"}\n${kind}`);
    const task: FrameTask = { seal, kind, key: key as CryptoKey };
    end.transform = new RTCRtpScriptTransform(this.worker, task);
  }

  close(): void {
    this.worker.terminate();
  }
}

function startWorker(url: string | URL | undefined): Worker {
  if (url) return new Worker(url);
  const text = new Blob([`(${frameWorker.toString()})(self)`], { type: "text/javascript" });
  const address = URL.createObjectURL(text);
  const worker = new Worker(address);
  URL.revokeObjectURL(address);
  return worker;
}
