/**
 * Questions to the chain by the protocol's query gateway, apart from the main entry.
 *
 * @packageDocumentation
 */
export {
  useQueryChain,
  type QueryParameters,
  type UseQueryChainOptions,
  type UseQueryChainResult,
} from "./useQueryChain";
