import { exportKey, keyFromSeed, newKey, parseKey, type Key, type Signer } from "./key";
import { utf8 } from "./bytes";

/**
 * Where this browser keeps the user's key.
 *
 * Where the browser can sign with Ed25519 itself (a secure context is needed),
 * it signs with a key that no script can read. Beside it the seed is kept,
 * encrypted, until its owner has a copy or wants none; then it is wiped, and
 * nothing on this origin can tell it any more. Elsewhere the seed is kept as it
 * is. A key is never lost on the way: each step is one write of one record,
 * and it happens only when the record is still the one that was read.
 */

/** How a key is kept: sealed into the browser, sealed with a wrapped seed beside it, or readable. */
export type Protection = "sealed" | "wrapped" | "readable";

export interface KeptKey extends Signer {
  readonly protection: Protection;
}

interface Wrapped {
  iv: Uint8Array<ArrayBuffer>;
  seed: ArrayBuffer;
  /** AES-GCM, not extractable. */
  by: CryptoKey;
}

interface SealedRecord {
  did: string;
  /** Ed25519, not extractable. */
  key: CryptoKey;
  wrapped?: Wrapped;
}

/** One record that all tabs share. */
export interface KeyStore {
  read(): Promise<unknown>;
  /** Replaces the record by what decide makes of it, in one step; undefined leaves it as it is. */
  change(decide: (current: unknown) => unknown): Promise<void>;
  forget(): Promise<void>;
}

const gone = "This browser no longer holds this key.";

function isSealed(record: unknown): record is SealedRecord {
  return typeof record === "object" && record !== null && "key" in record && "did" in record;
}

/** The key of a private seed as WebCrypto takes it: PKCS #8 around 32 bytes. */
function pkcs8(seed: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
  return Uint8Array.from([...head, ...seed]);
}

export class Vault {
  readonly #store: KeyStore;
  readonly #subtle: SubtleCrypto | undefined;

  /** Without subtle, keys are kept readable. */
  constructor(store: KeyStore, subtle: SubtleCrypto | undefined) {
    this.#store = store;
    this.#subtle = subtle;
  }

  /** The key that is kept, if there is one. One that is kept readable without need is wrapped. */
  async load(): Promise<KeptKey | undefined> {
    const record = await this.#store.read();
    if (typeof record !== "string") return this.#kept(record);
    const better = await this.#seal(parseKey(record), true);
    // A browser that cannot store its own keys goes on with the seed.
    const store = (next: unknown) =>
      this.#store.change((current) => (current === record ? next : undefined));
    if (better) await store(better).catch(() => undefined);
    // Another tab may have been quicker, or have signed out.
    return this.#kept(await this.#store.read());
  }

  /** The key that is kept, or a new one. However many tabs ask at once, they get the same. */
  async loadOrMake(): Promise<KeptKey> {
    const known = await this.load();
    if (known) return known;
    const key = newKey();
    const put = (record: unknown) =>
      this.#store.change((current) => (current === undefined ? record : undefined));
    const sealed = await this.#seal(key, true);
    await put(sealed ?? exportKey(key)).catch(() => put(exportKey(key)));
    const kept = this.#kept(await this.#store.read());
    if (!kept) throw new Error("This browser does not keep keys.");
    return kept;
  }

  /** Keeps a key. The seed of one that its owner brought is not kept beside it. */
  async keep(key: Key, isBackedUp: boolean): Promise<KeptKey> {
    const put = async (record: SealedRecord | string) => {
      await this.#store.change(() => record);
      return this.#kept(record);
    };
    const sealed = await this.#seal(key, !isBackedUp);
    const kept = sealed && (await put(sealed).catch(() => undefined));
    return kept ?? (await put(exportKey(key)));
  }

  /** The seed in digits, for a copy. */
  async backup(did: string): Promise<string> {
    const record = await this.#store.read();
    const key =
      typeof record === "string"
        ? parseKey(record)
        : isSealed(record) && (await this.#open(record));
    if (!key || key.did !== did) throw new Error("The key can no longer be shown: it was locked.");
    return exportKey(key);
  }

  /** Wipes the seed: its owner has a copy, or wants none. */
  async lock(did: string): Promise<KeptKey> {
    let locked: KeptKey | undefined;
    await this.#store.change((current) => {
      if (!isSealed(current) || current.did !== did) return undefined;
      const record: SealedRecord = { did, key: current.key };
      locked = this.#kept(record);
      return record;
    });
    if (!locked) throw new Error(gone);
    return locked;
  }

  forget(): Promise<void> {
    return this.#store.forget();
  }

  #kept(record: SealedRecord | string): KeptKey;
  #kept(record: unknown): KeptKey | undefined;
  #kept(record: unknown): KeptKey | undefined {
    if (typeof record === "string") {
      const { did, sign } = parseKey(record);
      return { did, sign, protection: "readable" };
    }
    if (!isSealed(record)) return undefined;
    const subtle = this.#subtle;
    return {
      did: record.did,
      protection: record.wrapped ? "wrapped" : "sealed",
      sign: async (message) => {
        if (!subtle) throw new Error("This browser cannot sign here: open the page over HTTPS.");
        return new Uint8Array(
          await subtle.sign("Ed25519", record.key, message as Uint8Array<ArrayBuffer>),
        );
      },
    };
  }

  /** The record of a sealed key; undefined where the browser cannot seal. */
  async #seal(key: Key, withSeed: boolean): Promise<SealedRecord | undefined> {
    const subtle = this.#subtle;
    if (!subtle) return undefined;
    try {
      const sealed = await subtle.importKey("pkcs8", pkcs8(key.seed), "Ed25519", false, ["sign"]);
      const record: SealedRecord = { did: key.did, key: sealed };
      if (!withSeed) return record;
      const by = await subtle.generateKey({ name: "AES-GCM", length: 256 }, false, [
        "encrypt",
        "decrypt",
      ]);
      const iv = crypto.getRandomValues(new Uint8Array(12));
      const seed = await subtle.encrypt(
        { name: "AES-GCM", iv, additionalData: utf8(key.did) as Uint8Array<ArrayBuffer> },
        by,
        key.seed as Uint8Array<ArrayBuffer>,
      );
      return { ...record, wrapped: { iv, seed, by } };
    } catch {
      // A browser without Ed25519 in its WebCrypto says so here.
      return undefined;
    }
  }

  async #open({ did, wrapped }: SealedRecord): Promise<Key | undefined> {
    if (!wrapped || !this.#subtle) return undefined;
    const seed = await this.#subtle.decrypt(
      {
        name: "AES-GCM",
        iv: wrapped.iv,
        additionalData: utf8(did) as Uint8Array<ArrayBuffer>,
      },
      wrapped.by,
      wrapped.seed,
    );
    return keyFromSeed(new Uint8Array(seed));
  }
}
