import { afterEach, expect, test, vi } from "vitest";
import { newKey, readToken } from "@castalia/oracles-client/wallet";
import { becomeOwner, instructionsOf, writeInstructions } from "./setup";

const session = () => ({
  key: { ...newKey(), protection: "readable" as const },
  serviceDid: newKey().did,
});

afterEach(() => vi.unstubAllGlobals());

/** Requests that were made, each answered with 200. */
function server() {
  const asked = vi.fn(() => Promise.resolve(Response.json({})));
  vi.stubGlobal("fetch", asked);
  vi.stubGlobal("sessionStorage", { getItem: () => null });
  return () => asked.mock.calls[0] as unknown as [string, RequestInit];
}

test("what an owner says becomes instructions, whatever signs are in it", () => {
  expect(instructionsOf({ name: " Mama Maji ", language: "", about: "" })).toBe(
    "You are Mama Maji.\n",
  );
  expect(
    instructionsOf({ name: "M", language: 'Swahili: "pole"\n---', about: " Knows the wells. " }),
  ).toBe('---\nlanguage: "Swahili: \\"pole\\"\\n---"\n---\nYou are M.\n\nKnows the wells.\n');
});

test("a setup link is opened as whoever is signed in, and refused in the server's words", async () => {
  const first = server();
  const who = session();
  await becomeOwner(who, "A".repeat(26));
  const [address, request] = first();
  expect([address, request.body]).toEqual(["/api/setup", `{"code":"${"A".repeat(26)}"}`]);
  const refusal = { message: "The setup link was used or has expired." };
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json(refusal, { status: 410 })));
  await expect(becomeOwner(who, "A".repeat(26))).rejects.toThrow(refusal.message);
});

test("instructions are written with a token for operators, over the version that was read", async () => {
  const first = server();
  const who = session();
  await writeInstructions(who, "You are M.", 3);
  const [address, request] = first();
  const headers = new Headers(request.headers);
  expect([address, request.method]).toEqual(["/operator/documents/instructions", "PUT"]);
  expect(headers.get("If-Match")).toBe('"3"');
  expect(headers.get("X-Auth-Type")).toBe("ucan");
  const token = readToken(headers.get("Authorization")?.replace(/^Bearer /, "") ?? "");
  expect([token.issuer, token.audience]).toEqual([who.key.did, who.serviceDid]);
  expect(token.capabilities).toMatchObject([{ can: "operator/*", with: "ixo:operator" }]);
});
