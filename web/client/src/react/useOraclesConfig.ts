import { resolveOracle, type OracleConfig, type OracleOverrides } from "../core/config";
import { useOraclesContext } from "./context";
import { useResource } from "./useResource";

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
  /** Asks for it again; after a failure of the line that happens by itself. */
  refetch: () => Promise<void>;
}

const unresolved = new Error("No query gateway is configured, and no overrides are given");

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
  const gateway = client.gateway ?? "";
  const found = useResource(gateway && oracleDid ? `config ${oracleDid}` : null, () =>
    resolveOracle(gateway, oracleDid, client.fetch),
  );
  const config = found.data ?? unknown;
  const apiUrl = overrides?.baseUrl ?? config.apiUrl;
  const socketUrl = overrides?.wsUrl ?? config.socketUrl ?? overrides?.baseUrl ?? apiUrl;
  return {
    config,
    apiUrl,
    socketUrl,
    model: config.model,
    price: config.price,
    isLoading: found.isLoading,
    isReady: apiUrl !== null && (overrides?.baseUrl !== undefined || !found.isLoading),
    error: apiUrl !== null ? undefined : gateway ? found.error : unresolved,
    refetch: found.refetch,
  };
}
