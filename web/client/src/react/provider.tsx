import { useMemo, useRef } from "react";
import { OraclesClient, type Network } from "../core/client";
import type { Mint } from "../core/credentials";
import { requestsOf } from "../core/requests";
import type { IWallet } from "../core/types";
import { Context, type OraclesContextValue, type OraclesProviderProps } from "./context";
import { useLatest } from "./latest";

/** Gives the hooks below it the user's wallet and the means to sign. */
export function OraclesProvider(props: OraclesProviderProps) {
  return <Context.Provider value={useProvided(props)}>{props.children}</Context.Provider>;
}

/** What a provider provides; tests bring a network of their own. */
export function useProvided(
  {
    initialWallet,
    transactSignX,
    createDelegation,
    createInvocation,
    queryGateway,
  }: OraclesProviderProps,
  network?: Network,
): OraclesContextValue {
  if (!initialWallet || !transactSignX || !createDelegation) {
    throw new Error("initialWallet, transactSignX and createDelegation are required");
  }
  const callbacks = useLatest({ transactSignX, createDelegation, createInvocation });
  const invokes = createInvocation !== undefined;
  const wallet = useStableWallet(initialWallet);
  return useMemo<OraclesContextValue>(() => {
    const invocation: Mint = (did) => {
      const mint = callbacks.current.createInvocation;
      return mint ? mint(did) : Promise.reject(new Error("createInvocation was taken away"));
    };
    const client = new OraclesClient({
      wallet,
      createDelegation: (did) => callbacks.current.createDelegation(did),
      ...(invokes ? { createInvocation: invocation } : {}),
      ...(queryGateway ? { queryGateway } : {}),
      ...(network ? { network } : {}),
    });
    return {
      wallet,
      client,
      transactSignX: (messages, memo) => callbacks.current.transactSignX(messages, memo),
      ...requestsOf(client),
    };
  }, [callbacks, wallet, invokes, queryGateway, network]);
}

/** The same object for the same wallet, however often the host makes a new one. */
function useStableWallet(wallet: IWallet): IWallet {
  const text = JSON.stringify(wallet);
  const kept = useRef({ text, wallet });
  // eslint-disable-next-line react-hooks/refs -- a cache keyed by value, the same in every render
  if (kept.current.text !== text) kept.current = { text, wallet };
  // eslint-disable-next-line react-hooks/refs -- as above
  return kept.current.wallet;
}
