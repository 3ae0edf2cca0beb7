import { useCallback, useState } from "react";
import { asError } from "../core/errors";
import { packClaimApproval, packClaimGrant, type PackedMessage } from "../core/protocol";
import { useOraclesContext } from "./context";

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
  const [state, set] = useState<{ isPending: boolean; error: Error | undefined }>({
    isPending: false,
    error: undefined,
  });
  const sign = useCallback(
    async (build: () => PackedMessage, memo: string) => {
      set({ isPending: true, error: undefined });
      try {
        const result = await transactSignX(
          [
            {
              typeUrl: "/cosmos.authz.v1beta1.MsgExec",
              value: { grantee: address, msgs: [build()] },
            },
          ],
          memo,
        );
        set({ isPending: false, error: undefined });
        return result;
      } catch (cause) {
        set({ isPending: false, error: asError(cause) });
        throw cause;
      }
    },
    [transactSignX, address],
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

  return { contractOracle, payClaim, ...state };
}

type Named = "adminAddress" | "claimId" | "granteeAddress" | "userClaimCollectionId";

function need(params: Partial<ContractOracleParams>, name: Named): string {
  const value = params[name];
  if (!value) throw new Error(`useContractOracle needs params.${name}, in the hook or in the call`);
  return value;
}
