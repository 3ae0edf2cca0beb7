/**
 * Conversations with oracles without React: for pages of any framework, or of none.
 * Decision: ADR 0271.
 *
 * @packageDocumentation
 */
export { uploadFile, type FileStore, type IStoredFile, type UploadOptions } from "../files/upload";
export type { FileToken } from "../files/bearer";
export type { ChatActs } from "./acts";
export type { ChatState, Multitask } from "./chat";
export type { OracleOverrides } from "./config";
export type { MintedToken } from "./credentials";
export { PaymentRequiredError, RequestError, TurnError } from "./errors";
export type { OracleEvent, OracleEventName, OracleEventPayloads } from "./events";
export type { StreamingMode } from "./flush";
export type { OpenedChat } from "./opened";
export type { OraclesOptions } from "./options";
export { createOracles, type OracleAt, type Oracles } from "./oracles";
export type { ChatOptions, ChatSnapshot, SendMessage } from "./page";
export type { Requests } from "./requests";
export type { SchemaOutput, StandardLike } from "./schema";
export type { IChatSession, SessionPage } from "./sessions";
export {
  defineTool,
  readCall,
  type BrowserTool,
  type BrowserTools,
  type KnownCall,
  type ToolArgs,
  type ToolOutput,
} from "./tools";
export type {
  ChatStatus,
  IAttachment,
  ICitation,
  IComponentMetadata,
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
} from "./types";
export { version } from "../version";
