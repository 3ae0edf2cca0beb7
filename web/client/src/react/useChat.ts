import {
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
  type ComponentType,
} from "react";
import { mayPass } from "../core/again";
import type { ChatState } from "../core/chat";
import type { OpenChat } from "../core/client";
import type { OracleOverrides } from "../core/config";
import type { OracleEvent } from "../core/events";
import type { StreamingMode } from "../core/flush";
import type { BrowserTools } from "../core/tools";
import type { IAttachment, IMessage, IRun } from "../core/types";
import { useOraclesContext } from "./context";
import { useLatest } from "./latest";
import { useOraclesConfig } from "./useOraclesConfig";

/** Components by the names that the oracle renders. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- props differ per component
export type UIComponents = Record<string, ComponentType<any>>;

export interface IChatOptions {
  oracleDid: string;
  sessionId: string;
  onPaymentRequiredError: (claimIds: string[]) => void;
  browserTools?: BrowserTools;
  /** What renderMessageContent draws components with. */
  uiComponents?: UIComponents;
  overrides?: OracleOverrides;
  streamingMode?: StreamingMode;
  /** Model to ask for; the oracle's default otherwise. */
  model?: string;
  /** Turns per page of history. */
  historyPageSize?: number;
  /** Called with every event of the live channel. */
  onEvent?: (event: OracleEvent) => void;
}

export interface IChatResult {
  messages: IMessage[];
  sendMessage: (
    message: string,
    metadata?: Record<string, unknown>,
    attachments?: IAttachment[],
  ) => Promise<void>;
  abortStream: () => Promise<void>;
  /** Sends the last message again, whose turn failed or which was not taken. */
  retry: () => Promise<void>;
  status: ChatState["status"];
  isSending: boolean;
  isLoading: boolean;
  error: Error | undefined;
  sendMessageError: Error | undefined;
  refetchMessages: () => Promise<void>;
  isRealTimeConnected: boolean;
  isConfigReady: boolean;
  run: IRun | undefined;
  hasEarlier: boolean;
  loadEarlier: () => Promise<void>;
  isLoadingEarlier: boolean;
}

const closed: ChatState = {
  messages: [],
  status: "ready",
  isLoading: true,
  error: undefined,
  sendMessageError: undefined,
  run: undefined,
  hasEarlier: false,
  isLoadingEarlier: false,
};
const never = () => () => undefined;
const getClosed = () => closed;
const getFalse = () => false;

/** A conversation with an oracle. */
export function useChat(options: IChatOptions): IChatResult {
  const { client } = useOraclesContext();
  const { oracleDid, sessionId } = options;
  const config = useOraclesConfig(oracleDid, options.overrides);
  const latest = useLatest(options);
  const baseUrl = config.isReady ? config.apiUrl : null;
  const wsUrl = config.isReady ? config.socketUrl : null;
  const key = [oracleDid, sessionId, baseUrl, wsUrl].join(" ");
  const [held, setHeld] = useState<{ key: string; client: unknown; open: OpenChat }>();
  // What belongs to another session or user is never shown, not even once.
  const open = held?.key === key && held.client === client ? held.open : undefined;

  useEffect(() => {
    if (!baseUrl || !wsUrl || !sessionId) return;
    const size = latest.current.historyPageSize;
    const { open, release } = client.open(
      { oracleDid, sessionId, baseUrl, wsUrl, ...(size ? { pageSize: size } : {}) },
      {
        streamingMode: () => latest.current.streamingMode,
        model: () => latest.current.model,
        browserTools: () => latest.current.browserTools,
        paymentRequired: (claims) => latest.current.onPaymentRequiredError(claims),
        event: (event) => latest.current.onEvent?.(event),
      },
    );
    // The conversation is an outside thing that exists from here on.
    // eslint-disable-next-line react-hooks/set-state-in-effect
    setHeld({ key, client, open });
    return release;
  }, [client, latest, key, oracleDid, sessionId, baseUrl, wsUrl]);

  // What messages are drawn with goes to whoever draws them. An object that is
  // new but holds the same components tells nobody anything.
  useEffect(() => client.setComponents(latest, options.uiComponents));
  useEffect(() => () => client.setComponents(latest, undefined), [client, latest]);

  const cell = open?.chat.state;
  const socket = open?.socket;
  const state = useSyncExternalStore(cell?.subscribe ?? never, cell?.get ?? getClosed, getClosed);
  const connected = useSyncExternalStore(
    socket?.connected.subscribe ?? never,
    socket?.connected.get ?? getFalse,
    getFalse,
  );

  // What is sent before the oracle is found goes out when it is.
  const waiting = useRef<((open: OpenChat) => void)[]>([]);
  useEffect(() => () => void (waiting.current = []), [oracleDid, sessionId]);
  useEffect(() => {
    if (open) for (const send of waiting.current.splice(0)) send(open);
  }, [open]);
  const lost = config.error && !mayPass(config.error) ? config.error : undefined;
  const sendMessage = useCallback<IChatResult["sendMessage"]>(
    (message, metadata, attachments) => {
      if (open) return open.chat.send(message, metadata, attachments);
      if (lost) return Promise.reject(lost);
      return new Promise((resolve) =>
        waiting.current.push((open) => resolve(open.chat.send(message, metadata, attachments))),
      );
    },
    [open, lost],
  );
  const abortStream = useCallback(() => open?.chat.abort() ?? Promise.resolve(), [open]);
  const retry = useCallback(() => open?.chat.retry() ?? Promise.resolve(), [open]);
  const refetchMessages = useCallback(() => open?.chat.refetch() ?? Promise.resolve(), [open]);
  const loadEarlier = useCallback(() => open?.chat.loadEarlier() ?? Promise.resolve(), [open]);

  return useMemo(
    () => ({
      ...state,
      error: state.error ?? config.error,
      isSending: state.status === "submitted" || state.status === "streaming",
      isRealTimeConnected: connected,
      isConfigReady: config.isReady,
      sendMessage,
      abortStream,
      retry,
      refetchMessages,
      loadEarlier,
    }),
    [
      state,
      connected,
      config.isReady,
      config.error,
      sendMessage,
      abortStream,
      retry,
      refetchMessages,
      loadEarlier,
    ],
  );
}
