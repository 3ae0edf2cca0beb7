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
import type { Chat, ChatState, Multitask } from "../core/chat";
import type { OpenChat, OraclesClient } from "../core/client";
import { makeShared } from "../core/shared";
import type { OracleOverrides } from "../core/config";
import type { OracleEvent } from "../core/events";
import type { StreamingMode } from "../core/flush";
import { readCall, type BrowserTools, type KnownCall } from "../core/tools";
import type { IAttachment, IFeedback, IMessage, IRun, IToolCall } from "../core/types";
import { useOraclesContext } from "./context";
import { useLatest } from "./latest";
import { useOraclesConfig } from "./useOraclesConfig";

/** Components by the names that the oracle renders. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- props differ per component
export type UIComponents = Record<string, ComponentType<any>>;

export interface IChatOptions<Tools extends BrowserTools = BrowserTools> {
  oracleDid: string;
  sessionId: string;
  onPaymentRequiredError: (claimIds: string[]) => void;
  browserTools?: Tools;
  /** What renderMessageContent draws components with. */
  uiComponents?: UIComponents;
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

export interface IChatResult<Tools extends BrowserTools = BrowserTools> {
  messages: IMessage[];
  sendMessage: (
    message: string,
    metadata?: Record<string, unknown>,
    attachments?: IAttachment[],
  ) => Promise<void>;
  abortStream: () => Promise<void>;
  /** Asks the last turn again, which failed, or sends the message again that was not taken. */
  retry: () => Promise<void>;
  /** Asks a turn again, by the id of any of its messages; the last one without. The old answer stays a version. */
  regenerate: (messageId?: string) => Promise<void>;
  /** Asks something else in place of a message. The old one stays a version. */
  editMessage: (messageId: string, message: string, attachments?: IAttachment[]) => Promise<void>;
  /** Shows a version of a turn: one of the `version.messageIds` of the message that begins it. */
  chooseVersion: (messageId: string) => Promise<void>;
  /** Rates an answer; null takes it back. */
  sendFeedback: (
    messageId: string,
    rating: IFeedback["rating"] | null,
    text?: string,
  ) => Promise<void>;
  /** Shows other messages, on this page alone and until the history is read again. */
  setMessages: (messages: IMessage[] | ((shown: IMessage[]) => IMessage[])) => void;
  /** Arguments and output of a call of one of the page's tools, by its key in `browserTools`. */
  readCall: <Key extends keyof Tools>(
    tool: Key,
    call: IToolCall,
  ) => KnownCall<Tools[Key]> | undefined;
  /** Takes away `error` and `sendMessageError`. */
  clearError: () => void;
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
export function useChat<Tools extends BrowserTools = BrowserTools>(
  options: IChatOptions<Tools>,
): IChatResult<Tools> {
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
        multitask: () => latest.current.multitask,
        browserTools: () => latest.current.browserTools,
        paymentRequired: (claims) => latest.current.onPaymentRequiredError(claims),
        event: (event) => latest.current.onEvent?.(event),
      },
      makeShared,
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
  const acts = useMemo(() => actsOf(client, open?.chat), [client, open]);
  const readOne = useCallback<IChatResult<Tools>["readCall"]>(
    (tool, call) => readCall(latest.current.browserTools?.[tool], call),
    [latest],
  );

  return useMemo(
    () => ({
      ...state,
      error: state.error ?? config.error,
      isSending: state.status === "submitted" || state.status === "streaming",
      isRealTimeConnected: connected,
      isConfigReady: config.isReady,
      sendMessage,
      readCall: readOne,
      ...acts,
    }),
    [state, connected, config.isReady, config.error, sendMessage, readOne, acts],
  );
}

/** What can be done in a conversation; nothing before it is open. */
function actsOf({ credentials }: OraclesClient, chat: Chat | undefined) {
  const act =
    <Args extends unknown[]>(run: (chat: Chat, ...args: Args) => Promise<void>) =>
    async (...args: Args) => {
      if (chat) await run(chat, ...args);
    };
  return {
    abortStream: act((chat) => chat.abort()),
    retry: act((chat) => chat.retry()),
    regenerate: act((chat, id?: string) => chat.askAnew(id)),
    editMessage: act((chat, ...edit: Parameters<IChatResult["editMessage"]>) =>
      chat.askAnew(...edit),
    ),
    chooseVersion: act((chat, id: string) => chat.choose(id)),
    sendFeedback: act((chat, ...told: Parameters<IChatResult["sendFeedback"]>) =>
      chat.rate(...told),
    ),
    setMessages: (next: Parameters<IChatResult["setMessages"]>[0]) =>
      chat?.setMessages(typeof next === "function" ? next(chat.state.get().messages) : next),
    clearError: () => chat?.clearError(),
    refetchMessages: act((chat) => {
      credentials.askAgain();
      return chat.refetch();
    }),
    loadEarlier: act((chat) => chat.loadEarlier()),
  };
}
