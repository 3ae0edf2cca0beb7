import type { MintedToken } from "./credentials";
import type { IWallet } from "./types";

/** Who the user is, and how requests are signed in their name. */
export interface OraclesOptions {
  initialWallet: IWallet;
  createDelegation: (oracleDid: string) => Promise<MintedToken>;
  createInvocation?: (oracleDid: string) => Promise<MintedToken>;
  /** Base address of the protocol's query gateway with its prefix. */
  queryGateway?: string;
}

export type TransactSignX = (
  messages: readonly { typeUrl: string; value: unknown }[],
  memo?: string,
) => Promise<unknown>;
