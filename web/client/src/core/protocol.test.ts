import { expect, test } from "vitest";
import { packClaimApproval, packClaimGrant } from "./protocol";

/** Reads a protobuf message as anybody would who has no description of it. */
function read(bytes: Uint8Array): [number: number, value: bigint | Uint8Array][] {
  let at = 0;
  const next = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error("cut off");
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const fields: [number, bigint | Uint8Array][] = [];
  while (at < bytes.length) {
    const tag = Number(next());
    if (tag % 8 === 0) fields.push([tag >> 3, next()]);
    else {
      const length = Number(next());
      fields.push([tag >> 3, bytes.slice(at, (at += length))]);
    }
  }
  return fields;
}

const said = (bytes: Uint8Array) =>
  read(bytes).map(([number, value]) => [
    number,
    typeof value === "bigint" ? Number(value) : new TextDecoder().decode(value),
  ]);

test("a grant is what the chain reads: numbers of fields, an enum, coins and a duration", () => {
  const { typeUrl, value } = packClaimGrant({
    creatorAddress: "ixo1user",
    creatorDid: "did:ixo:ixo1user",
    granteeAddress: "ixo1oracle",
    adminAddress: "ixo1admin",
    collectionId: "7",
    agentQuota: 5_000_000_000,
    maxAmount: [
      { denom: "uixo", amount: "1000" },
      { denom: "uusd", amount: "2" },
    ],
  });
  expect(typeUrl).toBe("/ixo.claims.v1beta1.MsgCreateClaimAuthorization");
  expect(said(value).slice(0, 7)).toEqual([
    [1, "ixo1user"],
    [2, "did:ixo:ixo1user"],
    [3, "ixo1oracle"],
    [4, "ixo1admin"],
    [5, "7"],
    [6, 1],
    [7, 5_000_000_000],
  ]);
  const [first, second, duration] = read(value).slice(7);
  expect([first, second].map((coin) => [coin?.[0], said(coin?.[1] as Uint8Array)])).toEqual([
    [8, [[1, "uixo"], [2, "1000"]]], // prettier-ignore
    [8, [[1, "uusd"], [2, "2"]]], // prettier-ignore
  ]);
  expect([duration?.[0], said(duration?.[1] as Uint8Array)]).toEqual([11, [[1, 3600]]]);
});

test("an approval has a proof and pays what the collection says, no other amount", () => {
  const { typeUrl, value } = packClaimApproval({
    claimId: "bafyclaim",
    collectionId: "7",
    agentDid: "did:ixo:ixo1user",
    agentAddress: "ixo1user",
    adminAddress: "ixo1admin",
  });
  expect(typeUrl).toBe("/ixo.claims.v1beta1.MsgEvaluateClaim");
  expect(said(value)).toEqual([
    [1, "bafyclaim"],
    [2, "7"],
    [3, "did:ixo:ixo1user"],
    [4, "did:ixo:ixo1user"],
    [5, "ixo1user"],
    [6, "ixo1admin"],
    [7, 1],
    [8, 1],
    [9, "bafyclaim"],
  ]);
});
