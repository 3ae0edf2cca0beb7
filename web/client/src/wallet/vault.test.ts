import { webcrypto } from "node:crypto";
import { expect, test } from "vitest";
import { exportKey, keyFromSeed, newKey } from "./key";
import { issue } from "./ucan";
import { Vault, type KeyStore } from "./vault";

const subtle = webcrypto.subtle as SubtleCrypto;

class MemoryStore implements KeyStore {
  record: unknown;
  async read() {
    return this.record;
  }
  async change(decide: (current: unknown) => unknown) {
    this.record = decide(this.record) ?? this.record;
  }
  async forget() {
    this.record = undefined;
  }
}

const statement = {
  audience: "did:key:z6Mkupw5FqjX2ob5Q8bNEnNvCPchkDhEhTmPoRZVcYWeVXZo",
  capabilities: [{ can: "*", with: "ixo:oracle" }],
  expires: 2_000_000_000,
};

/** Every byte and character that a record lets a script read. */
function readable(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null && "extractable" in value) {
    expect(value.extractable).toBe(false);
    return "";
  }
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString("hex");
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (typeof value !== "object" || value === null) return "";
  return Object.values(value).map(readable).join(" ");
}

test("a key signs the same tokens in the open, wrapped and locked", async () => {
  const key = newKey();
  const token = await issue(key, statement);
  const store = new MemoryStore();
  const vault = new Vault(store, subtle);
  const wrapped = await vault.keep(key, false);
  expect(wrapped).toMatchObject({ did: key.did, protection: "wrapped" });
  expect(await issue(wrapped, statement)).toBe(token);
  const locked = await vault.lock(key.did);
  expect(locked).toMatchObject({ did: key.did, protection: "sealed" });
  expect(await issue(locked, statement)).toBe(token);
  const loaded = await vault.load();
  expect(loaded && (await issue(loaded, statement))).toBe(token);
});

test("the seed is readable by nobody while it is wrapped, and gone once it is locked", async () => {
  const key = newKey();
  const store = new MemoryStore();
  const vault = new Vault(store, subtle);
  await vault.keep(key, false);
  expect(readable(store.record)).not.toContain(exportKey(key));
  expect(await vault.backup(key.did)).toBe(exportKey(key));
  await vault.lock(key.did);
  expect(Object.keys(store.record as object).sort()).toEqual(["did", "key"]);
  expect(readable(store.record).trim()).toBe(key.did);
  await expect(vault.backup(key.did)).rejects.toThrow("locked");
});

test("who brought a key has a copy of it", async () => {
  const vault = new Vault(new MemoryStore(), subtle);
  expect((await vault.keep(newKey(), true)).protection).toBe("sealed");
});

test("a key that was kept readable is wrapped, and stays the same", async () => {
  const key = newKey();
  const store = new MemoryStore();
  store.record = exportKey(key);
  const vault = new Vault(store, subtle);
  expect(await vault.load()).toMatchObject({ did: key.did, protection: "wrapped" });
  expect(readable(store.record)).not.toContain(exportKey(key));
  expect(await vault.backup(key.did)).toBe(exportKey(key));
});

test("two tabs that find a readable key end with one record that both can use", async () => {
  const key = newKey();
  const store = new MemoryStore();
  store.record = exportKey(key);
  const [one, other] = await Promise.all([
    new Vault(store, subtle).load(),
    new Vault(store, subtle).load(),
  ]);
  expect(one?.did).toBe(key.did);
  expect(other?.did).toBe(key.did);
  expect(await new Vault(store, subtle).backup(key.did)).toBe(exportKey(key));
});

test("tabs that ask at once for a key that nobody has made get the same", async () => {
  const store = new MemoryStore();
  const made = await Promise.all([1, 2, 3].map(() => new Vault(store, subtle).loadOrMake()));
  expect(new Set(made.map((key) => key.did)).size).toBe(1);
  expect((await new Vault(store, subtle).loadOrMake()).did).toBe(made[0]?.did);
  expect((await new Vault(new MemoryStore(), undefined).loadOrMake()).protection).toBe("readable");
});

test("nothing brings a key back that was signed out, or puts one in another's place", async () => {
  const key = newKey();
  const store = new MemoryStore();
  const vault = new Vault(store, subtle);
  await vault.keep(key, false);
  await vault.forget();
  await expect(vault.lock(key.did)).rejects.toThrow("no longer holds");
  expect(await vault.load()).toBeUndefined();
  const next = await vault.keep(newKey(), false);
  await expect(vault.lock(key.did)).rejects.toThrow("no longer holds");
  await expect(vault.backup(key.did)).rejects.toThrow();
  expect((await vault.load())?.did).toBe(next.did);
});

test("a sign-out during the move of an old key stays one", async () => {
  const store = new MemoryStore();
  store.record = exportKey(newKey());
  const loading = new Vault(store, subtle).load();
  await store.forget();
  store.record = undefined;
  expect(await loading).toBeUndefined();
});

test("without WebCrypto, or without Ed25519 in it, keys are kept as they were", async () => {
  const key = keyFromSeed(new Uint8Array(32).fill(7));
  const lacking = new Proxy(subtle, {
    get: (target, name) =>
      name === "importKey"
        ? () => Promise.reject(new DOMException("no Ed25519", "NotSupportedError"))
        : (Reflect.get(target, name) as unknown),
  });
  for (const crypto of [undefined, lacking]) {
    const store = new MemoryStore();
    const vault = new Vault(store, crypto);
    expect(await vault.keep(key, true)).toMatchObject({ protection: "readable" });
    expect(store.record).toBe(exportKey(key));
    expect(await vault.load()).toMatchObject({ did: key.did, protection: "readable" });
    expect(await vault.backup(key.did)).toBe(exportKey(key));
  }
});

test("a browser that cannot store its own keys keeps the seed", async () => {
  const key = newKey();
  class PlainStore extends MemoryStore {
    override async change(decide: (current: unknown) => unknown) {
      const next = decide(this.record);
      if (typeof next === "object") throw new DOMException("no CryptoKey", "DataCloneError");
      this.record = next ?? this.record;
    }
  }
  const store = new PlainStore();
  const vault = new Vault(store, subtle);
  expect(await vault.keep(key, false)).toMatchObject({ did: key.did, protection: "readable" });
  expect(await vault.load()).toMatchObject({ did: key.did, protection: "readable" });
});
