import { useCallback } from "react";
import { packClaimApproval, packClaimGrant, type PackedMessage } from "../core/protocol";
import { useOraclesContext } from "./context";
import { useTask } from "./useTask";

export interface ContractOracleParams {
  oracleDid: string;
  userClaimCollectionId: string;
  adminAddress: string;
  /** The claim to pay. */
  claimId?: string;
  /** The oracle's account, which is granted the right to submit claims. */
  granteeAddress?: string;
  /** How many claims it may submit; one unless told. */
  agentQuota?: number;
  /** The most that a claim may ask for. */
  maxAmount?: { amount: string; denom: string }[];
}

/** Pays to contract an oracle: builds the protocol's messages and hands them to the wallet. */
export function useContractOracle(options: { params?: ContractOracleParams } = {}) {
  const { wallet, transactSignX } = useOraclesContext();
  const { params } = options;
  const { address, did } = wallet;
  const { run, running, error } = useTask();
  const sign = useCallback(
    (build: () => PackedMessage, memo: string) =>
      run(async () => {
        const value = { grantee: address, msgs: [build()] };
        return transactSignX([{ typeUrl: "/cosmos.authz.v1beta1.MsgExec", value }], memo);
      }),
    [run, transactSignX, address],
  );

  const contractOracle = useCallback(
    (given?: Partial<ContractOracleParams>) => {
      const p = { ...params, ...given };
      return sign(
        () =>
          packClaimGrant({
            creatorAddress: address,
            creatorDid: did,
            granteeAddress: need(p, "granteeAddress"),
            adminAddress: need(p, "adminAddress"),
            collectionId: need(p, "userClaimCollectionId"),
            agentQuota: p.agentQuota ?? 1,
            maxAmount: p.maxAmount ?? [],
          }),
        `Contract oracle ${p.oracleDid}`,
      );
    },
    [params, sign, address, did],
  );

  const payClaim = useCallback(
    (given?: Partial<ContractOracleParams>) => {
      const p = { ...params, ...given };
      return sign(
        () =>
          packClaimApproval({
            claimId: need(p, "claimId"),
            collectionId: need(p, "userClaimCollectionId"),
            agentDid: did,
            agentAddress: address,
            adminAddress: need(p, "adminAddress"),
          }),
        `Pay claim ${p.claimId}`,
      );
    },
    [params, sign, address, did],
  );

  return { contractOracle, payClaim, isPending: running, error };
}

type Named = "adminAddress" | "claimId" | "granteeAddress" | "userClaimCollectionId";

function need(params: Partial<ContractOracleParams>, name: Named): string {
  const value = params[name];
  if (!value) throw new Error(`useContractOracle needs params.${name}, in the hook or in the call`);
  return value;
}
