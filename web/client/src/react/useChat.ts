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
import type { ChatAddress, ChatPage, OraclesClient, Shared } from "../core/client";
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
import type { IDraft, IToolCall } from "../core/types";
import { useOraclesContext } from "./context";
import { useLatest } from "./latest";
import { silentPage } from "./silent";
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
  /** A message that was written here and not sent, until it is taken. */
  draft: IDraft | undefined;
  /** Keeps a message that was not sent for this conversation, also after the page has left it; nothing when it was taken. */
  keepDraft: (draft: IDraft | undefined) => void;
  /** Arguments and output of a call of one of the page's tools, by its key in `browserTools`. */
  readCall: <Key extends keyof Tools>(
    tool: Key,
    call: IToolCall,
  ) => KnownCall<Tools[Key]> | undefined;
}

/** A message that waits for its oracle to be found. */
interface Waiting {
  send: (held: Held) => void;
  fail: (cause: Error) => void;
}

/** A conversation that a page opened. */
interface Held {
  key: string;
  client: OraclesClient;
  at: ChatAddress;
  open: Shared;
}

/**
 * Sends in a conversation. When its last page has left it meanwhile it is opened once more, and
 * what goes on there is not cut.
 */
async function speak({ client, at, open }: Held, said: Parameters<SendMessage>): Promise<void> {
  if (open.pages.length > 0) return open.chat.send(...said);
  const page: ChatPage = { ...silentPage(), multitask: () => "enqueue" };
  const again = client.open(at, page, makeShared);
  try {
    await again.open.chat.send(...said);
  } finally {
    again.release();
  }
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
  const [held, setHeld] = useState<Held>();
  // What belongs to another session or user is never shown, not even once.
  const mine = held?.key === key && held.client === client ? held : undefined;
  const open = mine?.open;

  useEffect(() => {
    if (!baseUrl || !wsUrl || !sessionId) return;
    const size = latest.current.historyPageSize;
    const at = { oracleDid, sessionId, baseUrl, wsUrl, ...(size ? { pageSize: size } : {}) };
    const { open, release } = client.open(
      at,
      pageOf(() => latest.current),
      makeShared,
    );
    // The conversation is an outside thing that exists from here on.
    // eslint-disable-next-line react-hooks/set-state-in-effect
    setHeld({ key, client, at, open });
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

  // What is sent before the oracle is found goes out when it is, or its sender is told why not.
  const waiting = useRef<Waiting[]>([]);
  useEffect(() => {
    const all = waiting.current;
    return () => {
      for (const { fail } of all.splice(0)) fail(new Error("The conversation was closed"));
    };
  }, [client, oracleDid, sessionId]);
  useEffect(() => {
    if (mine) for (const { send } of waiting.current.splice(0)) send(mine);
  }, [mine]);
  const lost = config.error && !mayPass(config.error) ? config.error : undefined;
  useEffect(() => {
    if (lost) for (const { fail } of waiting.current.splice(0)) fail(lost);
  }, [lost]);
  const sendMessage = useCallback<IChatResult["sendMessage"]>(
    (...said) => {
      if (mine) return speak(mine, said);
      if (lost) return Promise.reject(lost);
      return new Promise((resolve, fail) =>
        waiting.current.push({ send: (held) => resolve(speak(held, said)), fail }),
      );
    },
    [mine, lost],
  );
  const conversation = `${oracleDid} ${sessionId}`;
  const { drafts } = client;
  const readDraft = () => drafts.get().get(conversation);
  const draft = useSyncExternalStore(drafts.subscribe, readDraft, readDraft);
  const keepDraft = useCallback<IChatResult["keepDraft"]>(
    (next) => client.keepDraft(conversation, next),
    [client, conversation],
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
      draft,
      keepDraft,
      readCall: readOne,
      ...acts,
    }),
    [
      state,
      connected,
      config.isReady,
      config.error,
      lost,
      sendMessage,
      draft,
      keepDraft,
      readOne,
      acts,
    ],
  );
}
