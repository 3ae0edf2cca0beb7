import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { toBase64, utf8, type Bytes } from "./bytes";
import { frameKeys, FrameLayer } from "./frames";
import { frameWorker, type FrameScope, type FrameTask } from "./frameWorker";

class FakeWorker {
  static all: FakeWorker[] = [];
  terminated = false;
  constructor(readonly url: string | URL) {
    FakeWorker.all.push(this);
  }
  terminate() {
    this.terminated = true;
  }
}
class FakeTransform {
  constructor(
    readonly worker: unknown,
    readonly options: FrameTask,
  ) {}
}

beforeEach(() => {
  FakeWorker.all = [];
  vi.stubGlobal("Worker", FakeWorker);
  vi.stubGlobal("RTCRtpScriptTransform", FakeTransform);
});
afterEach(() => vi.unstubAllGlobals());

/** Sends frames through the worker as the browser does. */
async function through(options: FrameTask, frames: Uint8Array[]): Promise<Uint8Array[]> {
  const scope: FrameScope = {};
  frameWorker(scope);
  const out: Uint8Array[] = [];
  await new Promise<void>((done) => {
    const readable = new ReadableStream<{ data: ArrayBuffer }>({
      start(controller) {
        for (const frame of frames) {
          controller.enqueue({ data: Uint8Array.from(frame).buffer });
        }
        controller.close();
      },
    });
    const writable = new WritableStream<{ data: ArrayBuffer }>({
      write: ({ data }) => void out.push(new Uint8Array(data)),
      close: done,
    });
    scope.onrtctransform?.({ transformer: { readable, writable, options } });
  });
  return out;
}

/** The oracle's side of the agreement, written from the contract alone. */
async function oracle() {
  const { subtle } = crypto;
  const pair = (await subtle.generateKey("X25519", true, ["deriveBits"])) as CryptoKeyPair;
  const mine: Bytes = new Uint8Array(await subtle.exportKey("raw", pair.publicKey));
  const key = async (callId: string, theirs: string, direction: string, kind: string) => {
    const raw = Uint8Array.from(Buffer.from(theirs, "base64url"));
    const tab = await subtle.importKey("raw", raw, "X25519", false, []);
    const shared = await subtle.deriveBits({ name: "X25519", public: tab }, pair.privateKey, 256);
    const salt = new Uint8Array([...raw, ...mine]);
    const info = utf8(`castalia-frames-v1\n${callId}\n${direction}\n${kind}`);
    const base = await subtle.importKey("raw", shared, "HKDF", false, ["deriveKey"]);
    return subtle.deriveKey(
      { name: "HKDF", hash: "SHA-256", salt, info },
      base,
      { name: "AES-GCM", length: 256 },
      false,
      ["encrypt", "decrypt"],
    );
  };
  return { publicKey: toBase64(mine), key };
}

async function attached(layer: FrameLayer, kind: string, seal: boolean): Promise<FrameTask> {
  const end = {} as RTCRtpSender;
  layer.attach(end, kind, seal);
  return (end.transform as unknown as FakeTransform).options;
}

const frame = (first: number, length: number) =>
  Uint8Array.from({ length }, (_, i) => (i === 0 ? first : i & 255));

describe("frames", () => {
  test.each([
    ["audio", 0x78, 1],
    ["video", 0x10, 10], // a key frame
    ["video", 0x11, 3],
  ])(
    "of %s (%i) reach the oracle with %i clear bytes, and no two alike",
    async (kind, first, clear) => {
      const other = await oracle();
      const layer = await FrameLayer.agree("c1", other.publicKey, undefined);
      const plain = frame(first, 200);
      const sealed = await through(await attached(layer, kind, true), [plain, plain]);
      expect(sealed).toHaveLength(2);
      expect(sealed[0]).not.toEqual(sealed[1]);
      const key = await other.key("c1", layer.publicKey, "tab", kind);
      for (const [n, wire] of sealed.entries()) {
        expect(wire.length).toBe(200 + 16 + 12 + 1);
        expect(wire.at(-1)).toBe(1);
        expect(wire.slice(0, clear)).toEqual(plain.slice(0, clear));
        const iv = wire.slice(-13, -1);
        expect(new DataView(iv.buffer).getBigUint64(4)).toBe(BigInt(n));
        const opened = await crypto.subtle.decrypt(
          { name: "AES-GCM", iv, additionalData: wire.slice(0, clear) },
          key,
          wire.slice(clear, -13),
        );
        expect(new Uint8Array(opened)).toEqual(plain.slice(clear));
      }
    },
  );

  test.each([
    ["audio", 0xff, 0],
    ["video", 0x10, 10],
    ["video", 0x11, 3],
  ])(
    "of %s (%i) that the oracle sealed are opened, others are dropped",
    async (kind, first, clear) => {
      const other = await oracle();
      const layer = await FrameLayer.agree("c1", other.publicKey, undefined);
      const key = await other.key("c1", layer.publicKey, "oracle", kind);
      const plain = frame(first, 160);
      const iv = crypto.getRandomValues(new Uint8Array(12));
      const head = plain.slice(0, clear);
      const body = await crypto.subtle.encrypt(
        { name: "AES-GCM", iv, additionalData: head },
        key,
        plain.slice(clear),
      );
      const wire = Uint8Array.of(...head, ...new Uint8Array(body), ...iv, 1);
      const broken = wire.map((byte, i) => (i === 20 ? byte ^ 1 : byte));
      const version = wire.map((byte, i) => (i === wire.length - 1 ? 2 : byte));
      // What the tab itself sent, thrown back at it.
      const [mine = wire] = await through(await attached(layer, kind, true), [plain]);
      const opened = await through(await attached(layer, kind, false), [
        broken,
        version,
        mine,
        plain,
        Uint8Array.of(first),
        new Uint8Array(),
        wire,
      ]);
      expect(opened).toEqual([plain]);
    },
  );
});

describe("the layer", () => {
  test("needs a key of the oracle and a browser that can", async () => {
    for (const key of [undefined, "", "short", toBase64(new Uint8Array(31))]) {
      await expect(FrameLayer.agree("c", key, undefined)).rejects.toMatchObject({
        code: "e2ee_unavailable",
      });
    }
    const { publicKey } = await oracle();
    vi.stubGlobal("RTCRtpScriptTransform", undefined);
    await expect(FrameLayer.agree("c", publicKey, undefined)).rejects.toThrow(/browser/);
    expect(FakeWorker.all).toEqual([]);
  });

  test("refuses a key that makes every secret the same", async () => {
    await expect(
      FrameLayer.agree("c", toBase64(new Uint8Array(32)), undefined),
    ).rejects.toMatchObject({ code: "e2ee_unavailable" });
  });

  test("runs the worker of the page if one is named, and ends it", async () => {
    const { publicKey } = await oracle();
    const layer = await FrameLayer.agree("c", publicKey, "/assets/frames.js");
    expect(FakeWorker.all.map((w) => w.url)).toEqual(["/assets/frames.js"]);
    layer.close();
    expect(FakeWorker.all[0]?.terminated).toBe(true);
  });

  test("has a worker that stands alone as text", () => {
    const scope: FrameScope = {};
    (new Function(`return ${frameWorker.toString()}`)() as typeof frameWorker)(scope);
    expect(scope.onrtctransform).toBeTypeOf("function");
  });
});

describe("spec/vectors/calls/frames.json", () => {
  interface Vector {
    callId: string;
    tabPrivate: string;
    tabPublic: string;
    oraclePublic: string;
    keys: Record<string, string>;
    frames: {
      direction: string;
      kind: string;
      clear: number;
      frame: string;
      iv: string;
      sealed: string;
    }[];
  }
  const address = new URL("../../../../../spec/vectors/calls/frames.json", import.meta.url);
  const vector = JSON.parse(readFileSync(address, "utf8")) as Vector;
  const hex = (text: string): Bytes => Uint8Array.from(Buffer.from(text, "hex"));
  const derive = async () => {
    const x = toBase64(hex(vector.tabPublic));
    const jwk = { kty: "OKP", crv: "X25519", d: toBase64(hex(vector.tabPrivate)), x };
    const mine = await crypto.subtle.importKey("jwk", jwk, "X25519", false, ["deriveBits"]);
    return frameKeys(vector.callId, mine, hex(vector.tabPublic), hex(vector.oraclePublic));
  };

  test("every key is the one that the oracle has", async () => {
    const keys = await derive();
    expect(keys.size).toBe(Object.keys(vector.keys).length);
    const iv = new Uint8Array(12);
    for (const [name, raw] of Object.entries(vector.keys)) {
      const theirs = await crypto.subtle.importKey("raw", hex(raw), "AES-GCM", false, ["encrypt"]);
      const mine = keys.get(name.replace(" ", "\n")) as CryptoKey;
      const sealed = [mine, theirs].map((key) =>
        crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, utf8("same")),
      );
      const [a, b] = (await Promise.all(sealed)).map((s) => new Uint8Array(s));
      expect(a).toEqual(b);
    }
  });

  test.each(vector.frames)(
    "a frame of $direction $kind is sealed as the oracle opens it",
    async (one) => {
      const key = (await derive()).get(`${one.direction}\n${one.kind}`) as CryptoKey;
      const random = vi.spyOn(crypto, "getRandomValues").mockImplementation((array) => {
        (array as unknown as Uint8Array).set(hex(one.iv).subarray(0, 4));
        return array;
      });
      const task = { seal: one.direction === "tab", kind: one.kind, key };
      // The oracle counts from one, the tab from nought: the second frame has the vector's number.
      const [, sealed] = await through(task, [hex(one.frame), hex(one.frame)]);
      random.mockRestore();
      expect(Buffer.from(sealed ?? []).toString("hex")).toBe(one.sealed);
    },
  );
});
