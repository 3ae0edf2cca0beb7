import { afterEach, describe, expect, test, vi } from "vitest";
import { fromBase58, fromBase64, toBase64 } from "./bytes";
import { CallIdentityError } from "./errors";
import { checkAnswer, fingerprints, keyOf, oracleKeys, verifyIdentity } from "./identity";
import { base58, signer } from "./kit";

afterEach(() => vi.unstubAllGlobals());

const web = (replies: Record<string, unknown>) =>
  vi.stubGlobal("fetch", async (address: string) =>
    address in replies
      ? new Response(JSON.stringify(replies[address]))
      : new Response("", { status: 404 }),
  );

describe("the oracle's keys", () => {
  test("a did:key is its own key", async () => {
    const { did, key } = await signer();
    expect(await oracleKeys(did, undefined)).toEqual([key]);
  });

  test.each([
    ["did:web:o.test", "https://o.test/.well-known/did.json"],
    ["did:web:o.test%3A8443:a:b", "https://o.test:8443/a/b/did.json"],
  ])("%s has those of %s", async (did, address) => {
    const { multibase, key } = await signer();
    web({ [address]: { verificationMethod: [null, { publicKeyMultibase: multibase }] } });
    expect(await oracleKeys(did, undefined)).toEqual([key]);
  });

  test("an entity has those that the chain names, in either form", async () => {
    const [one, two] = [await signer(), await signer()];
    web({
      "https://g.test/ixo/entity/did%3Aixo%3Aentity%3Ax": {
        iidDocument: {
          verificationMethod: [
            { publicKeyMultibase: one.multibase },
            { publicKeyBase58: base58(two.key) },
            { publicKeyBase58: "1" },
            { blockchainAccountID: "ixo1a" },
          ],
        },
      },
    });
    expect(await oracleKeys("did:ixo:entity:x", "https://g.test/ixo/")).toEqual([one.key, two.key]);
  });

  test.each(["did:key:z6Mkjunk", "did:key:zQ3s", "did:web:gone.test", "did:ixo:x", "junk"])(
    "%s has none, and says so",
    async (did) => {
      web({});
      await expect(oracleKeys(did, undefined)).rejects.toBeInstanceOf(CallIdentityError);
    },
  );

  test("nothing but an Ed25519 key is taken for one", () => {
    for (const junk of [undefined, 7, "", "z", "z0OIl", `z${"1".repeat(100)}`, "m6Mk"]) {
      expect(keyOf(junk)).toBeUndefined();
    }
  });
});

describe("the signature", () => {
  test("of the oracle is taken, whichever of its keys made it", async () => {
    const [one, two] = [await signer(), await signer()];
    await verifyIdentity([one.key, two.key], "c", await two.sign("c"));
  });

  test("over anything else is refused", async () => {
    const [oracle, mallory] = [await signer(), await signer()];
    const good = await oracle.sign("c");
    const wrong = [
      undefined,
      { ...good, signature: "" },
      { ...good, signature: "%%" },
      { ...good, did: mallory.did },
      { ...good, fingerprint: "sha-256 AB:CE" },
      { ...good, agreement: "other" },
      await oracle.sign("another call"),
      await mallory.sign("c"),
    ];
    for (const identity of wrong) {
      await expect(verifyIdentity([oracle.key], "c", identity)).rejects.toBeInstanceOf(
        CallIdentityError,
      );
    }
  });
});

describe("the answer", () => {
  const identity = { did: "", signature: "", agreement: "", fingerprint: "sha-256 AB:CD" };
  const line = (print: string) => `v=0\r\na=fingerprint:${print}\r\n`;

  test("has the signed fingerprint in every part", () => {
    checkAnswer(line("sha-256 AB:CD") + line("SHA-256 ab:cd"), identity);
    expect(fingerprints(line("sha-256 ab:0d"))).toEqual(["sha-256 AB:0D"]);
  });

  test.each([
    "",
    line("sha-256 AB:CE"),
    line("sha-1 AB:CD"),
    line("sha-256 AB:CD") + line("sha-256 00:00"),
  ])("with another or none is refused", (sdp) => {
    expect(() => checkAnswer(sdp, identity)).toThrow(CallIdentityError);
  });
});

test("bytes keep their leading zeros and their length", () => {
  for (const bytes of [[], [0], [0, 0, 1], [255, 0, 128], [...Array(64).keys()]]) {
    const array = Uint8Array.from(bytes);
    expect(fromBase58(base58(array))).toEqual(array);
    expect(fromBase64(toBase64(array))).toEqual(array);
  }
});
