import { createContext, useContext, type ReactNode } from "react";
import type { OraclesClient } from "../core/client";
import type { OraclesOptions, TransactSignX } from "../core/options";
import type { Requests } from "../core/requests";
import type { IWallet } from "../core/types";

export interface OraclesProviderProps extends OraclesOptions {
  transactSignX: TransactSignX;
  children?: ReactNode;
}

export interface OraclesContextValue extends Requests {
  wallet: IWallet;
  transactSignX: TransactSignX;
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
