import { isWorthTrying } from "./again";
import type { ChatState, Multitask } from "./chat";
import type { ChatPage } from "./client";
import type { OracleOverrides } from "./config";
import type { OracleEvent } from "./events";
import type { StreamingMode } from "./flush";
import type { BrowserTools } from "./tools";
import type { IAttachment } from "./types";

/** Which conversation a page shows, and what it brings to it. */
export interface ChatOptions {
  oracleDid: string;
  sessionId: string;
  /** Payment that is due is no error: this is told of the claims. */
  onPaymentRequiredError?: (claimIds: string[]) => void;
  browserTools?: BrowserTools;
  overrides?: OracleOverrides;
  streamingMode?: StreamingMode;
  /** Model to ask for; the oracle's default otherwise. */
  model?: string;
  /**
   * What a message does to a turn that is under way: ends it (the default), waits
   * for its end, or is refused. To a turn of another tab it waits by default.
   */
  multitask?: Multitask;
  /** Turns per page of history. */
  historyPageSize?: number;
  /** Called with every event of the live channel. */
  onEvent?: (event: OracleEvent) => void;
}

/** What a page shows of a conversation. */
export interface ChatSnapshot extends ChatState {
  isSending: boolean;
  /** Something failed, and `retry` may help: not where the oracle would refuse it again. */
  canRetry: boolean;
  isRealTimeConnected: boolean;
  isConfigReady: boolean;
}

/** Sends a message; resolves when the turn has ended. */
export type SendMessage = (
  message: string,
  metadata?: Record<string, unknown>,
  attachments?: IAttachment[],
) => Promise<void>;

export function isSending({ status }: ChatState): boolean {
  return status === "submitted" || status === "streaming";
}

export function canRetry({ status, error, sendMessageError }: ChatState): boolean {
  return status === "error" && isWorthTrying(sendMessageError ?? error);
}

/** A page by its options, which are read whenever they are needed. */
export function pageOf(options: () => ChatOptions): ChatPage {
  return {
    streamingMode: () => options().streamingMode,
    model: () => options().model,
    multitask: () => options().multitask,
    browserTools: () => options().browserTools,
    paymentRequired: (claims) => options().onPaymentRequiredError?.(claims),
    event: (event) => options().onEvent?.(event),
  };
}
