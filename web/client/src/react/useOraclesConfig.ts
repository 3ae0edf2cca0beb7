import { useSyncExternalStore } from "react";
import type { OracleConfig, OracleOverrides } from "../core/config";
import { useOraclesContext } from "./context";

export interface UseOraclesConfigResult {
  config: OracleConfig;
  /** Where requests go: the override, or what was resolved. */
  apiUrl: string | null;
  socketUrl: string | null;
  model: string | null;
  price: OracleConfig["price"];
  isLoading: boolean;
  isReady: boolean;
  error: Error | undefined;
}

const unknown: OracleConfig = {
  apiUrl: null,
  socketUrl: null,
  model: null,
  price: null,
  name: null,
};

/** The public configuration of an oracle: API URL, model, price. */
export function useOraclesConfig(
  oracleDid: string,
  overrides?: OracleOverrides,
): UseOraclesConfigResult {
  const { client } = useOraclesContext();
  const cell = client.config(oracleDid);
  const state = useSyncExternalStore(cell.subscribe, cell.get, cell.get);
  const config = state.config ?? unknown;
  const apiUrl = overrides?.baseUrl ?? config.apiUrl;
  const socketUrl = overrides?.wsUrl ?? config.socketUrl ?? overrides?.baseUrl ?? apiUrl;
  return {
    config,
    apiUrl,
    socketUrl,
    model: config.model,
    price: config.price,
    isLoading: state.isLoading,
    isReady: apiUrl !== null && (overrides?.baseUrl !== undefined || !state.isLoading),
    error: apiUrl === null ? state.error : undefined,
  };
}
