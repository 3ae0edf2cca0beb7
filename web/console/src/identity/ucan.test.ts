import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { exportKey, keyFromSeed, newKey, parseKey } from "./key";
import { fromHex } from "./bytes";
import { issue, type Capability } from "./ucan";

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

test.each(reproducible)("$name is issued to the letter", (v) => {
  const principal = Object.values(principals).find((p) => p.did === v.issuer);
  expect(principal).toBeDefined();
  const key = keyFromSeed(fromHex(principal?.seed_hex ?? ""));
  expect(key.did).toBe(v.issuer);
  expect(issue(key, { audience: v.audience, capabilities: v.capabilities, expires: v.exp })).toBe(
    v.token,
  );
});

test("an exported key comes back as the same identity", () => {
  const key = newKey();
  expect(parseKey(` ${exportKey(key)}\n`).did).toBe(key.did);
  expect(() => parseKey("nonsense")).toThrow("64 hexadecimal digits");
});
