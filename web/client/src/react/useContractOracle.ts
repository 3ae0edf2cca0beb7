import { useCallback, useState } from "react";
import { asError } from "../core/errors";
import { useOraclesContext } from "./context";

export interface ContractOracleParams {
  oracleDid: string;
  userClaimCollectionId: string;
  adminAddress: string;
  claimId?: string;
  /** The oracle's account, which is granted the right to submit claims. */
  granteeAddress?: string;
  agentQuota?: number;
  maxAmount?: { amount: string; denom: string }[];
}

/** Pays to contract an oracle: builds the protocol's messages and hands them to the wallet. */
export function useContractOracle(options: { params?: ContractOracleParams } = {}) {
  const { wallet, transactSignX } = useOraclesContext();
  const [state, set] = useState<{ isPending: boolean; error: Error | undefined }>({
    isPending: false,
    error: undefined,
  });
  const sign = useCallback(
    async (message: { typeUrl: string; value: unknown }, memo: string) => {
      set({ isPending: true, error: undefined });
      try {
        const result = await transactSignX(
          [
            {
              typeUrl: "/cosmos.authz.v1beta1.MsgExec",
              value: { grantee: wallet.address, msgs: [message] },
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
    [transactSignX, wallet.address],
  );

  const contractOracle = useCallback(
    (given?: ContractOracleParams) => {
      const p = need(given ?? options.params);
      return sign(
        {
          typeUrl: "/ixo.claims.v1beta1.MsgCreateClaimAuthorization",
          value: {
            creatorAddress: wallet.address,
            creatorDid: wallet.did,
            granteeAddress: p.granteeAddress ?? "",
            adminAddress: p.adminAddress,
            collectionId: p.userClaimCollectionId,
            authType: "SUBMIT",
            agentQuota: p.agentQuota ?? 1,
            maxAmount: p.maxAmount ?? [],
          },
        },
        `Contract oracle ${p.oracleDid}`,
      );
    },
    [options.params, sign, wallet.address, wallet.did],
  );

  const payClaim = useCallback(
    (given?: ContractOracleParams) => {
      const p = need(given ?? options.params);
      if (!p.claimId) throw new Error("payClaim needs params.claimId");
      return sign(
        {
          typeUrl: "/ixo.claims.v1beta1.MsgEvaluateClaim",
          value: {
            claimId: p.claimId,
            collectionId: p.userClaimCollectionId,
            oracle: p.oracleDid,
            agentDid: wallet.did,
            agentAddress: wallet.address,
            adminAddress: p.adminAddress,
            status: 1,
            reason: 1,
            verificationProof: "",
            amount: p.maxAmount ?? [],
          },
        },
        `Pay claim ${p.claimId}`,
      );
    },
    [options.params, sign, wallet.address, wallet.did],
  );

  return { contractOracle, payClaim, ...state };
}

function need(params: ContractOracleParams | undefined): ContractOracleParams {
  if (!params) throw new Error("useContractOracle needs params, in the hook or in the call");
  return params;
}
