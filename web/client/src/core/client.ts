import { OracleApi } from "./api";
import { Chat, type ChatHost } from "./chat";
import { resolveOracle, type OracleConfig } from "./config";
import { CredentialKeeper, type Mint } from "./credentials";
import { asError } from "./errors";
import type { OracleEvent } from "./events";
import { Cell } from "./observable";
import { OracleSocket } from "./socket";
import { runAction, runTool, type AgAction, type BrowserTools } from "./tools";
import type { IWallet } from "./types";

export interface ClientOptions {
  wallet: IWallet;
  createDelegation: Mint;
  createInvocation?: Mint;
  /** Base address of the protocol's query gateway with its prefix. */
  queryGateway?: string;
}

export interface ConfigState {
  config: OracleConfig | undefined;
  isLoading: boolean;
  error: Error | undefined;
}

/** A conversation together with its live channel. */
export interface OpenChat {
  chat: Chat;
  connected: Cell<boolean>;
}

/** What a page offers to a conversation, read anew whenever it is needed. */
export interface ChatPage extends ChatHost {
  browserTools(): BrowserTools | undefined;
  event(event: OracleEvent): void;
}

interface Shared extends OpenChat {
  users: number;
  page: ChatPage;
  socket: OracleSocket | undefined;
  closing: ReturnType<typeof setTimeout> | undefined;
}

const unresolved: ConfigState = {
  config: undefined,
  isLoading: false,
  error: new Error("No query gateway is configured, and no overrides are given"),
};

/** How long a configuration is believed. */
const configAge = 5 * 60_000;

/** How long a conversation survives without a page: StrictMode and route changes. */
const linger = 1000;

/**
 * Everything that the components of one provider share: credentials, resolved
 * configurations, registered actions, and one open conversation per session
 * however many components show it.
 */
export class OraclesClient {
  readonly credentials: CredentialKeeper;
  readonly wallet: IWallet;
  readonly actions = new Cell<ReadonlyMap<string, AgAction>>(new Map());
  readonly #gateway: string | undefined;
  readonly #configs = new Map<string, { cell: Cell<ConfigState>; at: number }>();
  readonly #chats = new Map<string, Shared>();

  constructor(options: ClientOptions) {
    this.wallet = options.wallet;
    this.#gateway = options.queryGateway;
    this.credentials = new CredentialKeeper(options.wallet.did, {
      delegation: options.createDelegation,
      ...(options.createInvocation ? { invocation: options.createInvocation } : {}),
    });
  }

  api(baseUrl: string, oracleDid: string): OracleApi {
    return new OracleApi(baseUrl, oracleDid, this.credentials);
  }

  /** The oracle's configuration, looked up once for all who ask. */
  config(oracleDid: string): Cell<ConfigState> {
    const gateway = this.#gateway;
    const key = `${oracleDid} ${gateway ?? ""}`;
    const known = this.#configs.get(key);
    if (known && Date.now() - known.at < configAge) return known.cell;
    const cell =
      known?.cell ??
      new Cell<ConfigState>({ config: undefined, isLoading: true, error: undefined });
    this.#configs.set(key, { cell, at: Date.now() });
    if (!gateway) {
      if (cell.get().isLoading) cell.set(unresolved);
      return cell;
    }
    resolveOracle(gateway, oracleDid).then(
      (config) => cell.set({ config, isLoading: false, error: undefined }),
      (cause: unknown) =>
        cell.set({ config: cell.get().config, isLoading: false, error: asError(cause) }),
    );
    return cell;
  }

  registerAction(action: AgAction): () => void {
    this.actions.set(new Map(this.actions.get()).set(action.name, action));
    return () => {
      if (this.actions.get().get(action.name) !== action) return;
      const rest = new Map(this.actions.get());
      rest.delete(action.name);
      this.actions.set(rest);
    };
  }

  /** Opens a conversation, or joins the open one. Call release when done. */
  open(
    at: { oracleDid: string; sessionId: string; baseUrl: string; wsUrl: string; pageSize?: number },
    page: ChatPage,
  ): { open: OpenChat; release: () => void } {
    const key = JSON.stringify([at.oracleDid, at.sessionId, at.baseUrl, at.wsUrl]);
    let shared = this.#chats.get(key);
    if (shared) {
      clearTimeout(shared.closing);
      shared.closing = undefined;
      shared.page = page;
    } else {
      shared = this.#make(at, page);
      this.#chats.set(key, shared);
    }
    shared.users++;
    const mine = shared;
    let released = false;
    return {
      open: mine,
      release: () => {
        if (released) return;
        released = true;
        if (--mine.users > 0) return;
        mine.closing = setTimeout(() => {
          this.#chats.delete(key);
          mine.chat.close();
          mine.socket?.close();
        }, linger);
      },
    };
  }

  #make(
    at: { oracleDid: string; sessionId: string; baseUrl: string; wsUrl: string; pageSize?: number },
    page: ChatPage,
  ): Shared {
    const api = this.api(at.baseUrl, at.oracleDid);
    const host: ChatHost = {
      streamingMode: () => shared.page.streamingMode(),
      model: () => shared.page.model(),
      tools: () => shared.page.tools(),
      actions: () => shared.page.actions(),
      paymentRequired: (claims) => shared.page.paymentRequired(claims),
    };
    const chat = new Chat(api, at.sessionId, host, at.pageSize);
    const shared: Shared = {
      chat,
      connected: new Cell(false),
      users: 0,
      page,
      socket: undefined,
      closing: undefined,
    };
    shared.socket = new OracleSocket(at.wsUrl, at.oracleDid, at.sessionId, this.credentials, {
      call: (kind, name, args) =>
        kind === "tool"
          ? runTool(shared.page.browserTools(), name, args)
          : runAction(this.actions.get().get(name), name, args),
      event: (event) => {
        if (event.eventName === "message_cache_invalidation") void chat.refetch();
        chat.takeEvent(event);
        shared.page.event(event);
      },
    });
    shared.connected = shared.socket.connected;
    void chat.open();
    return shared;
  }
}
