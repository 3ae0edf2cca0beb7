import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  exportKey,
  fromPrivateText,
  keyFromSeed,
  newKey,
  parseKey,
  privateText,
  type Key,
} from "./key";
import { base64, fromBase64, fromHex } from "./bytes";
import { car, decode, encode, readCar } from "./cbor";
import { issue, readToken, type Capability } from "./ucan";

const folder = new URL("../../../../spec/vectors/ucan/", import.meta.url);

interface Vector {
  name: string;
  token: string;
  token_encoding: string;
  issuer: string;
  audience: string;
  capabilities: Capability[];
  exp: number | null;
  facts: unknown[];
  chain_cids?: string[];
  expect: string;
}

const principals = (
  JSON.parse(readFileSync(new URL("meta/config.json", folder), "utf8")) as {
    principals: Record<string, { did: string; seed_hex: string }>;
  }
).principals;

// Ed25519 signatures are deterministic, so a token issued here from the same
// statement must equal the vector to the letter.
const reproducible = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .map((name) => JSON.parse(readFileSync(new URL(name, folder), "utf8")) as Vector)
  .filter(
    (v) =>
      v.token_encoding === "base64-car" &&
      v.expect === "valid" &&
      v.chain_cids?.length === 1 &&
      v.facts.length === 0 &&
      ["self-issued", "oracle-auth-did-key"].includes(v.name),
  );

test("there are vectors to reproduce", () => {
  expect(reproducible.length).toBeGreaterThan(0);
});

test.each(reproducible)("$name is issued to the letter", async (v) => {
  const principal = Object.values(principals).find((p) => p.did === v.issuer);
  expect(principal).toBeDefined();
  const key = keyFromSeed(fromHex(principal?.seed_hex ?? ""));
  expect(key.did).toBe(v.issuer);
  expect(
    await issue(key, { audience: v.audience, capabilities: v.capabilities, expires: v.exp }),
  ).toBe(v.token);
});

const load = (name: string) =>
  JSON.parse(readFileSync(new URL(`${name}.json`, folder), "utf8")) as Vector;

function keyOf(did: string): Key {
  const principal = Object.values(principals).find((p) => p.did === did);
  return keyFromSeed(fromHex(principal?.seed_hex ?? ""));
}

test("a token with a proof is issued to the letter", async () => {
  const v = load("chain-1-hop");
  // The proof is the token's first block, put into an envelope of its own.
  const [proof] = readCar(fromBase64(v.token)).blocks;
  if (!proof) throw new Error("the vector has no proof");
  const said = decode(proof.bytes) as Record<string, never>;
  const alone = await issue(keyOf("did:key:z6Mkupw5FqjX2ob5Q8bNEnNvCPchkDhEhTmPoRZVcYWeVXZo"), {
    audience: v.issuer,
    capabilities: said["att"] as unknown as Capability[],
    expires: said["exp"] as unknown as number,
  });
  expect(
    await issue(keyOf(v.issuer), {
      audience: v.audience,
      capabilities: v.capabilities,
      expires: v.exp,
      proofs: [alone],
    }),
  ).toBe(v.token);
});

test("what a token says can be read", () => {
  const v = load("self-issued");
  expect(readToken(v.token)).toMatchObject({
    cid: v.chain_cids?.[0],
    issuer: v.issuer,
    audience: v.audience,
    capabilities: v.capabilities,
    expires: v.exp,
  });
  for (const bad of ["", "AAAA", base64(new Uint8Array(100).fill(0x81)), v.token.slice(0, 300)]) {
    expect(() => readToken(bad)).toThrow();
  }
});

test("hostile blocks end in an error, not in a loop", () => {
  expect(() => decode(new Uint8Array(200).fill(0x81))).toThrow();
  expect(() => decode(Uint8Array.of(0x9a, 0xff, 0xff, 0xff, 0xff))).toThrow();
  expect(() => decode(Uint8Array.of(0x5b, 0, 0, 0, 1, 0, 0, 0, 0))).toThrow();
  expect(decode(encode({ a: [1, -2, "x", null, true] }))).toEqual({ a: [1, -2, "x", null, true] });
  expect(() => readCar(car(new Uint8Array(36), []).subarray(0, 20))).toThrow();
});

test("a key in a link comes back as the same identity", () => {
  const key = newKey();
  expect(fromPrivateText(privateText(key)).did).toBe(key.did);
  expect(() => fromPrivateText("Mabc")).toThrow("not a key");
});

test("an exported key comes back as the same identity", () => {
  const key = newKey();
  expect(parseKey(` ${exportKey(key)}\n`).did).toBe(key.did);
  expect(() => parseKey("nonsense")).toThrow("64 hexadecimal digits");
});
