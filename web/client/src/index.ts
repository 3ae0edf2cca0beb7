/**
 * Client library of Castalia oracles: a provider, hooks and the types they speak.
 * What is not the chat is in entries of its own: ADR 0184.
 *
 * @packageDocumentation
 */
export { PaymentRequiredError, RequestError, TurnError } from "./core/errors";
export type { Multitask } from "./core/chat";
export type { OracleConfig, OracleOverrides } from "./core/config";
export type { MintedToken } from "./core/credentials";
export type { OracleEvent, OracleEventName, OracleEventPayloads } from "./core/events";
export type { StreamingMode } from "./core/flush";
export { getOpenIdToken, type OpenIdRequest, type OpenIdToken } from "./core/openid";
export type { TransactSignX } from "./core/options";
export type { SchemaOutput, StandardLike } from "./core/schema";
export type { IChatSession } from "./core/sessions";
export {
  defineTool,
  type BrowserTool,
  type BrowserTools,
  type KnownCall,
  type ToolArgs,
  type ToolOutput,
} from "./core/tools";
export type {
  ChatStatus,
  IAttachment,
  ICitation,
  IComponentMetadata,
  IDraft,
  IFeedback,
  IMessage,
  IMessageVersion,
  IRun,
  IToolCall,
  IWallet,
  MessageContent,
  MessagePart,
  RunStatus,
  ToolCallStatus,
} from "./core/types";
export {
  useOraclesContext,
  type OraclesContextValue,
  type OraclesProviderProps,
} from "./react/context";
export { OraclesProvider } from "./react/provider";
export { renderMessageContent } from "./react/render";
export {
  useAgAction,
  type AgActionRenderProps,
  type UseAgActionOptions,
  type ZodLike,
} from "./react/useAgAction";
export { useChat, type IChatOptions, type IChatResult, type UIComponents } from "./react/useChat";
export { useContractOracle, type ContractOracleParams } from "./react/useContractOracle";
export { useGetOpenIdToken } from "./react/useGetOpenIdToken";
export { useMemoryEngine, type IMemory } from "./react/useMemoryEngine";
export { useModels, type IModel } from "./react/useModels";
export { useOracleSessions, type UseOracleSessionsOptions } from "./react/useOracleSessions";
export { useOraclesConfig, type UseOraclesConfigResult } from "./react/useOraclesConfig";
export { version } from "./version";
