/** A message of the protocol inside another: its bytes, as the chain reads them. */
export interface PackedMessage {
  typeUrl: string;
  value: Uint8Array;
}

export interface Coin {
  amount: string;
  denom: string;
}

/** Whom an oracle may submit claims for, and how many. */
export interface ClaimGrant {
  creatorAddress: string;
  creatorDid: string;
  granteeAddress: string;
  adminAddress: string;
  collectionId: string;
  agentQuota: number;
  maxAmount: Coin[];
}

/** The approval of a claim, which pays it. */
export interface ClaimApproval {
  claimId: string;
  collectionId: string;
  agentDid: string;
  agentAddress: string;
  adminAddress: string;
}

/** What the protocol calls these. */
const submit = 1;
const approved = 1;

/** How long the chain holds the payment of a claim that an oracle has announced, in seconds. */
const intentDuration = 3600;

/** Lets an oracle submit claims to a collection: MsgCreateClaimAuthorization. */
export function packClaimGrant(g: ClaimGrant): PackedMessage {
  return packed("/ixo.claims.v1beta1.MsgCreateClaimAuthorization", [
    ...field(1, g.creatorAddress),
    ...field(2, g.creatorDid),
    ...field(3, g.granteeAddress),
    ...field(4, g.adminAddress),
    ...field(5, g.collectionId),
    ...field(6, submit),
    ...field(7, g.agentQuota),
    ...g.maxAmount.flatMap((c) => field(8, [...field(1, c.denom), ...field(2, c.amount)])),
    ...field(11, field(1, intentDuration)),
  ]);
}

/**
 * Approves a claim for what its collection pays: MsgEvaluateClaim. Who pays is
 * also who evaluates; the claim's own id is the proof that the chain asks for.
 */
export function packClaimApproval(a: ClaimApproval): PackedMessage {
  return packed("/ixo.claims.v1beta1.MsgEvaluateClaim", [
    ...field(1, a.claimId),
    ...field(2, a.collectionId),
    ...field(3, a.agentDid),
    ...field(4, a.agentDid),
    ...field(5, a.agentAddress),
    ...field(6, a.adminAddress),
    ...field(7, approved),
    ...field(8, 1),
    ...field(9, a.claimId),
  ]);
}

function packed(typeUrl: string, bytes: number[]): PackedMessage {
  return { typeUrl, value: Uint8Array.from(bytes) };
}

/** A field in protobuf's encoding, which leaves out what is empty. */
function field(number: number, value: string | number | number[]): number[] {
  if (typeof value === "number") return value === 0 ? [] : [number * 8, ...varint(value)];
  const bytes = typeof value === "string" ? [...new TextEncoder().encode(value)] : value;
  return bytes.length === 0 ? [] : [number * 8 + 2, ...varint(bytes.length), ...bytes];
}

function varint(value: number): number[] {
  const low = value % 128;
  return value < 128 ? [low] : [low + 128, ...varint(Math.floor(value / 128))];
}
