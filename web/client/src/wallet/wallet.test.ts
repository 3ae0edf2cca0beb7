import { afterEach, expect, test, vi } from "vitest";
import { newKey } from "./key";
import { readToken } from "./ucan";
import { createWallet } from "./wallet";

const oracleDid = "did:key:z6Mkupw5FqjX2ob5Q8bNEnNvCPchkDhEhTmPoRZVcYWeVXZo";
const server = "http://oracle.test/";

function serving(answer: () => Response) {
  const fetched = vi.fn<typeof fetch>(async () => answer());
  vi.stubGlobal("fetch", fetched);
  return fetched;
}
const itself = () => new Response(JSON.stringify({ id: oracleDid }));
afterEach(() => void vi.unstubAllGlobals());

test("a wallet signs for the service at the server, whichever oracle is named", async () => {
  const fetched = serving(itself);
  const key = newKey();
  const wallet = await createWallet(key, { server });
  expect(fetched).toHaveBeenCalledWith("http://oracle.test/.well-known/did.json");
  expect(wallet).toMatchObject({ did: key.did, oracleDid });
  const { createInvocation, createDelegation, initialWallet } = wallet.provider;
  expect(initialWallet).toMatchObject({ did: key.did, address: key.did });
  for (const mint of [createInvocation, createDelegation]) {
    const made = await mint?.("did:ixo:entity:abc");
    expect(readToken(made?.serialized ?? "")).toMatchObject({
      issuer: key.did,
      audience: oracleDid,
      capabilities: [{ can: "*", with: "ixo:oracle" }],
      expires: (made?.expiresAt ?? 0) / 1000,
    });
  }
});

test("files are allowed as far as the page says", async () => {
  serving(itself);
  const key = newKey();
  const capabilities = async (files?: "read" | "write") => {
    const wallet = await createWallet(key, { server, ...(files ? { files } : {}) });
    const made = await wallet.provider.createDelegation(oracleDid);
    return readToken(made.serialized).capabilities.map((c) => c.can);
  };
  expect(await capabilities()).toEqual(["*"]);
  expect(await capabilities("read")).toEqual(["*", "fs/read"]);
  expect(await capabilities("write")).toEqual(["*", "fs/*"]);
});

test("a token for files is kept while it is good; a grant names its content", async () => {
  serving(itself);
  vi.useFakeTimers();
  const sign = vi.fn(newKey().sign);
  const wallet = await createWallet({ ...newKey(), sign }, { server });
  const first = await wallet.fileToken();
  expect(await wallet.fileToken()).toBe(first);
  expect(sign).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(59 * 60_000 + 1000);
  expect(await wallet.fileToken()).not.toBe(first);
  vi.useRealTimers();
  expect(readToken(await wallet.grant(["bafy"])).capabilities).toEqual([
    { can: "*", with: "ixo:oracle" },
    { can: "fs/read", with: `vfs:///${wallet.did}`, nb: { cids: ["bafy"] } },
  ]);
});

test("a server that is away, or says nothing of itself, is named", async () => {
  serving(() => new Response("{}", { status: 503 }));
  await expect(createWallet(newKey(), { server })).rejects.toThrow("503");
  serving(() => new Response("{}"));
  await expect(createWallet(newKey(), { server })).rejects.toThrow("does not say who it is");
  serving(() => {
    throw new TypeError("Failed to fetch");
  });
  await expect(createWallet(newKey(), { server })).rejects.toThrow(
    "http://oracle.test cannot be reached",
  );
});

test("it pays nothing unless it is told how", async () => {
  serving(itself);
  const { provider } = await createWallet(newKey(), { server });
  await expect(provider.transactSignX([])).rejects.toThrow("no account on a chain");
});
