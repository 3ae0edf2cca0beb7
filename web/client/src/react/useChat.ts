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
import { actsOf, type ChatActs } from "../core/acts";
import { closedState } from "../core/chatModel";
import type { OpenChat } from "../core/client";
import {
  canRetry,
  isSending,
  pageOf,
  type ChatOptions,
  type ChatSnapshot,
  type SendMessage,
} from "../core/page";
import { makeShared } from "../core/shared";
import { readCall, type BrowserTools, type KnownCall } from "../core/tools";
import type { IToolCall } from "../core/types";
import { useOraclesContext } from "./context";
import { useLatest } from "./latest";
import { useOraclesConfig } from "./useOraclesConfig";

/** Components by the names that the oracle renders. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- props differ per component
export type UIComponents = Record<string, ComponentType<any>>;

export interface IChatOptions<Tools extends BrowserTools = BrowserTools> extends ChatOptions {
  onPaymentRequiredError: (claimIds: string[]) => void;
  browserTools?: Tools;
  /** What renderMessageContent draws components with. */
  uiComponents?: UIComponents;
}

export interface IChatResult<Tools extends BrowserTools = BrowserTools>
  extends ChatSnapshot, ChatActs {
  sendMessage: SendMessage;
  /** Arguments and output of a call of one of the page's tools, by its key in `browserTools`. */
  readCall: <Key extends keyof Tools>(
    tool: Key,
    call: IToolCall,
  ) => KnownCall<Tools[Key]> | undefined;
}

const never = () => () => undefined;
const getClosed = () => closedState;
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
      pageOf(() => latest.current),
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
  const { refetch } = config;
  const acts = useMemo(() => actsOf(client, () => open?.chat, refetch), [client, open, refetch]);
  const readOne = useCallback<IChatResult<Tools>["readCall"]>(
    (tool, call) => readCall(latest.current.browserTools?.[tool], call),
    [latest],
  );

  return useMemo(
    () => ({
      ...state,
      error: state.error ?? config.error,
      isRetrying: state.isRetrying || (config.error !== undefined && lost === undefined),
      isSending: isSending(state),
      canRetry: canRetry(state),
      isRealTimeConnected: connected,
      isConfigReady: config.isReady,
      sendMessage,
      readCall: readOne,
      ...acts,
    }),
    [state, connected, config.isReady, config.error, lost, sendMessage, readOne, acts],
  );
}
