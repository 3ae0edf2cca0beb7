import { useOraclesContext } from "./context";
import { useOraclesConfig } from "./useOraclesConfig";
import { useResource } from "./useResource";

export interface IModel {
  id: string;
  label: string;
  family?: string;
  tier?: string;
  costLabel?: string;
  badge?: string;
  blurb?: string;
  vision?: boolean;
  isDefault?: boolean;
}

/** The models that an oracle offers. */
export function useModels(oracleDid: string, options: { baseUrl?: string } = {}) {
  const { client } = useOraclesContext();
  const config = useOraclesConfig(
    oracleDid,
    options.baseUrl ? { baseUrl: options.baseUrl } : undefined,
  );
  const apiUrl = config.isReady ? config.apiUrl : null;
  const { data, error, isLoading, refetch } = useResource(apiUrl && `models ${apiUrl}`, () =>
    client
      .api(apiUrl ?? "", oracleDid)
      .json<{ models: IModel[]; default: string }>("/models", { anonymous: true }),
  );
  return {
    models: data?.models ?? [],
    defaultModel: data?.default,
    error: error ?? config.error,
    isLoading: isLoading || config.isLoading,
    refetch: apiUrl ? refetch : config.refetch,
  };
}
