import { useEffect } from "react";
import { errorFrom } from "../core/errors";
import { useOraclesContext } from "../react/context";
import { useResource } from "../react/useResource";

/** What a route is asked with; a list repeats its name, and nothing leaves it out. */
export type QueryParameters = Record<
  string,
  string | number | boolean | readonly string[] | undefined
>;

export interface UseQueryChainOptions {
  parameters?: QueryParameters;
  /** The gateway with its prefix; the provider's `queryGateway` unless given. */
  gateway?: string;
  /** How often it is asked again while the page is seen, in milliseconds; once unless given. */
  every?: number;
}

export interface UseQueryChainResult<T> {
  /** The last answer; it stays while the next is on its way. */
  data: T | undefined;
  isLoading: boolean;
  error: Error | undefined;
  refetch: () => Promise<void>;
}

/** Asking more often tells nothing new: blocks take seconds. */
const mostOften = 1000;

/**
 * Asks a route of the chain, such as `/cosmos/bank/v1beta1/balances/ixo1…`, once
 * for all components that ask the same. Nothing is asked while the path is null.
 */
export function useQueryChain<T = unknown>(
  path: string | null,
  options: UseQueryChainOptions = {},
): UseQueryChainResult<T> {
  const { client } = useOraclesContext();
  const gateway = (options.gateway ?? client.gateway)?.replace(/\/+$/, "");
  const url = path && gateway ? gateway + withParameters(path, options.parameters) : null;
  const { data, error, isLoading, reload, refetch } = useResource<T>(url && `chain ${url}`, () =>
    ask<T>(client.fetch, url ?? ""),
  );
  const every = options.every && Math.max(options.every, mostOften);
  useEffect(() => {
    if (!every) return;
    const timer = setInterval(() => {
      if (!document.hidden) void reload();
    }, every);
    return () => clearInterval(timer);
  }, [every, reload]);
  const lost = path && !gateway ? noGateway : undefined;
  return { data, error: lost ?? error, isLoading: !lost && isLoading, refetch };
}

const noGateway = new Error("The provider was given no queryGateway");

function withParameters(path: string, parameters: QueryParameters = {}): string {
  const query = new URLSearchParams();
  for (const name of Object.keys(parameters).sort()) {
    for (const value of [parameters[name] ?? []].flat()) query.append(name, String(value));
  }
  const told = query.toString();
  return `/${path.replace(/^\/+/, "")}${told && (path.includes("?") ? "&" : "?") + told}`;
}

async function ask<T>(fetcher: typeof fetch, url: string): Promise<T> {
  const response = await fetcher(url);
  if (!response.ok) throw await errorFrom(response);
  return (await response.json()) as T;
}
