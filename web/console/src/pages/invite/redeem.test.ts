import { afterEach, expect, test, vi } from "vitest";
import { newKey, readToken } from "@castalia/oracles-client/wallet";
import { codeOf, redeem } from "./redeem";

const code = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const session = () => ({
  key: { ...newKey(), protection: "readable" as const },
  serviceDid: newKey().did,
});

afterEach(() => vi.unstubAllGlobals());

test("a code has one spelling", () => {
  expect(codeOf("#" + code)).toBe(code);
  for (const other of [
    "",
    "#",
    "#" + code.toLowerCase(),
    "#" + code + "A",
    "#" + code.slice(1),
    code,
  ]) {
    expect(codeOf(other)).toBe("");
  }
});

test("an invitation is redeemed with a token of one's own", async () => {
  const asked = vi.fn(() => Promise.resolve(new Response("{}", { status: 200 })));
  vi.stubGlobal("fetch", asked);
  const signedIn = session();
  await redeem(signedIn, code);
  const [address, request] = asked.mock.calls[0] as unknown as [string, RequestInit];
  expect(address).toBe("/api/invitations/redeem");
  expect(request.body).toBe(JSON.stringify({ code }));
  expect(new Headers(request.headers).get("X-Auth-Type")).toBe("ucan");
  const bearer = new Headers(request.headers).get("Authorization")?.replace(/^Bearer /, "");
  const token = readToken(bearer ?? "");
  expect(token.issuer).toBe(signedIn.key.did);
  expect(token.audience).toBe(signedIn.serviceDid);
});

test("a refusal is told in the server's words", async () => {
  const refusal = { message: "The invitation has been used up: ask the operator for a new one." };
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json(refusal, { status: 410 })));
  await expect(redeem(session(), code)).rejects.toThrow(refusal.message);
  vi.stubGlobal("fetch", () => Promise.resolve(new Response("?", { status: 502 })));
  await expect(redeem(session(), code)).rejects.toThrow("The server answered 502");
});
