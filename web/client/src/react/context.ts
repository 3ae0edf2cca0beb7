import { createContext, useContext, type ReactNode } from "react";
import type { OraclesClient } from "../core/client";
import type { MintedToken } from "../core/credentials";
import type { IWallet } from "../core/types";

export type TransactSignX = (
  messages: readonly { typeUrl: string; value: unknown }[],
  memo?: string,
) => Promise<unknown>;

export interface OraclesProviderProps {
  initialWallet: IWallet;
  transactSignX: TransactSignX;
  createDelegation: (oracleDid: string) => Promise<MintedToken>;
  createInvocation?: (oracleDid: string) => Promise<MintedToken>;
  /** Base address of the protocol's query gateway with its prefix. */
  queryGateway?: string;
  children?: ReactNode;
}

export interface OraclesContextValue {
  wallet: IWallet;
  transactSignX: TransactSignX;
  /** A token that is good for now. A wallet that refused is asked once more. */
  getDelegation: (oracleDid: string) => Promise<string | undefined>;
  getInvocation: (oracleDid: string) => Promise<string | undefined>;
  /** Sends a request to an oracle in the user's name and returns its JSON. */
  authedRequest: <T>(
    url: string,
    method: string,
    options: { oracleDid: string; body?: unknown },
  ) => Promise<T>;
  /** @internal */
  client: OraclesClient;
}

/** @internal */
export const Context = createContext<OraclesContextValue | undefined>(undefined);

/** What the provider holds. */
export function useOraclesContext(): OraclesContextValue {
  const value = useContext(Context);
  if (!value) throw new Error("useOraclesContext must be used within a OraclesProvider");
  return value;
}
