import {
  addressOf,
  configKey,
  readEntity,
  resolveOracle,
  type OracleConfig,
  type OracleOverrides,
} from "../core/config";
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

const unknown = /* @__PURE__ */ readEntity(undefined);

/** The public configuration of an oracle: API URL, model, price. */
export function useOraclesConfig(
  oracleDid: string,
  overrides?: OracleOverrides,
): UseOraclesConfigResult {
  const { client } = useOraclesContext();
  const gateway = client.gateway ?? "";
  const found = useResource(gateway && oracleDid ? configKey(oracleDid) : null, () =>
    resolveOracle(gateway, oracleDid, client.fetch),
  );
  const config = found.data ?? unknown;
  return {
    ...addressOf(gateway, found, overrides),
    config,
    model: config.model,
    price: config.price,
    isLoading: found.isLoading,
    refetch: found.refetch,
  };
}
