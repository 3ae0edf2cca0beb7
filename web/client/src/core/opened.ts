import { actsOf, type ChatActs } from "./acts";
import { mayPass } from "./again";
import { closedState } from "./chatModel";
import type { OpenChat, OraclesClient } from "./client";
import { addressOf, configKey, resolveOracle, type OracleConfig } from "./config";
import { Cell } from "./observable";
import {
  canRetry,
  isSending,
  pageOf,
  type ChatOptions,
  type ChatSnapshot,
  type SendMessage,
} from "./page";
import { makeShared } from "./shared";

/** A conversation for pages of any framework. */
export interface OpenedChat extends ChatActs {
  /** What is to be shown now. It is a new object only when something changed. */
  get: () => ChatSnapshot;
  /**
   * Tells what is to be shown, at once and whenever it changed, until what is
   * returned is called. A store, as Svelte means it.
   */
  subscribe: (listener: (shown: ChatSnapshot) => void) => () => void;
  sendMessage: SendMessage;
  /** Leaves the conversation. A turn under way goes on at the oracle. */
  close: () => void;
}

interface Waiting {
  send: (open: OpenChat) => void;
  fail: (cause: Error) => void;
}

/** Opens a conversation as soon as its oracle is found. Options are read whenever they are needed. */
export function openChat(client: OraclesClient, options: ChatOptions): OpenedChat {
  const { oracleDid, sessionId, overrides, historyPageSize } = options;
  const { gateway } = client;
  const found = gateway ? client.resource<OracleConfig>(configKey(oracleDid)) : undefined;
  const left: (() => void)[] = [];
  const waiting: Waiting[] = [];
  let open: OpenChat | undefined;
  let isClosed = false;
  const address = () => addressOf(gateway, found?.state.get(), overrides);

  /** Why the oracle will not be found, if that is certain. */
  const lost = () => {
    const { error } = address();
    return error && !mayPass(error) ? error : undefined;
  };
  const snapshot = (): ChatSnapshot => {
    const state = open?.chat.state.get() ?? closedState;
    const { error, isReady } = address();
    return {
      ...state,
      error: state.error ?? error,
      isRetrying: state.isRetrying || (error !== undefined && mayPass(error)),
      isSending: isSending(state),
      canRetry: canRetry(state),
      isRealTimeConnected: open?.socket.connected.get() ?? false,
      isConfigReady: isReady,
    };
  };
  const shown = new Cell(snapshot());
  const show = () => {
    const next = snapshot();
    if (!isSame(shown.get(), next)) shown.set(next);
  };
  const look = () => {
    const { apiUrl, socketUrl, isReady } = address();
    if (!open && isReady && apiUrl && socketUrl) {
      const pageSize = historyPageSize ? { pageSize: historyPageSize } : {};
      const at = { oracleDid, sessionId, baseUrl: apiUrl, wsUrl: socketUrl, ...pageSize };
      const joined = client.open(
        at,
        pageOf(() => options),
        makeShared,
      );
      open = joined.open;
      left.push(open.chat.state.subscribe(show), open.socket.connected.subscribe(show));
      left.push(joined.release);
      for (const { send } of waiting.splice(0)) send(open);
    }
    const why = lost();
    if (why) for (const { fail } of waiting.splice(0)) fail(why);
    show();
  };
  const find = () => resolveOracle(gateway ?? "", oracleDid, client.fetch);
  if (found) left.push(found.state.subscribe(look), found.use(find));
  look();

  return {
    ...actsOf(
      client,
      () => open?.chat,
      async () => found?.reload(find),
    ),
    get: shown.get,
    subscribe: (listener) => {
      const tell = () => listener(shown.get());
      tell();
      return shown.subscribe(tell);
    },
    sendMessage: (...said) => {
      const why = isClosed ? new Error("The conversation was closed") : lost();
      if (why) return Promise.reject(why);
      if (open) return open.chat.send(...said);
      return new Promise((resolve, fail) =>
        waiting.push({ send: ({ chat }) => resolve(chat.send(...said)), fail }),
      );
    },
    close: () => {
      isClosed = true;
      for (const leave of left.splice(0)) leave();
      for (const { fail } of waiting.splice(0)) fail(new Error("The conversation was closed"));
    },
  };
}

function isSame(a: ChatSnapshot, b: ChatSnapshot): boolean {
  return (Object.keys(b) as (keyof ChatSnapshot)[]).every((key) => a[key] === b[key]);
}
