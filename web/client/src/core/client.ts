import { OracleApi } from "./api";
import { dropOldest } from "./bounded";
import { Chat, type ChatHost, type Multitask } from "./chat";
import { CredentialKeeper, type Mint } from "./credentials";
import type { OracleEvent } from "./events";
import type { StreamingMode } from "./flush";
import type { Connect } from "./line";
import { Cell } from "./observable";
import { randomId } from "./random";
import { Resource } from "./resource";
import { OracleSocket, type SocketHost } from "./socket";
import {
  declareActions,
  declareTools,
  runAction,
  runTool,
  type AgAction,
  type BrowserTools,
} from "./tools";
import type { IWallet } from "./types";

export interface ClientOptions {
  wallet: IWallet;
  createDelegation: Mint;
  createInvocation?: Mint;
  /** Base address of the protocol's query gateway with its prefix. */
  queryGateway?: string;
  /** What stands in for the network in tests. */
  network?: Network;
}

/** The two ways out of a page. */
export interface Network {
  fetch?: typeof fetch;
  connect?: Connect;
}

/** A conversation together with its live channel. */
export interface OpenChat {
  chat: Chat;
  socket: OracleSocket;
}

/** Where a conversation is. */
export interface ChatAddress {
  oracleDid: string;
  sessionId: string;
  baseUrl: string;
  wsUrl: string;
  pageSize?: number;
}

/** What a page offers to a conversation, read anew whenever it is needed. */
export interface ChatPage {
  streamingMode(): StreamingMode | undefined;
  model(): string | undefined;
  multitask?(): Multitask | undefined;
  paymentRequired?(claimIds: string[]): void;
  browserTools(): BrowserTools | undefined;
  event(event: OracleEvent): void;
}

/** Components by the names that the oracle renders; what they are is the framework's business. */
export type Components = Readonly<Record<string, unknown>>;

interface Shared extends OpenChat {
  /** The components that show it; of what only one may decide, the last does. */
  pages: ChatPage[];
  /** Whether anybody reads the conversation itself. */
  read: boolean;
  closing: ReturnType<typeof setTimeout> | undefined;
}

/** How many oracles, configurations and lists are kept that nobody shows. */
const mostKept = 100;

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
  /** What the pages draw components with, by who brought it. */
  readonly components = new Cell<ReadonlyMap<object, Components>>(new Map());
  /** The conversation that was opened last. */
  readonly spokenTo = new Cell<ChatAddress | undefined>(undefined);
  readonly gateway: string | undefined;
  readonly fetch: typeof fetch;
  readonly #network: Network;
  readonly #chats = new Map<string, Shared>();
  readonly #apis = new Map<string, OracleApi>();
  readonly #resources = new Map<string, Resource<unknown>>();

  constructor(options: ClientOptions) {
    this.wallet = options.wallet;
    this.gateway = options.queryGateway;
    this.#network = options.network ?? {};
    this.fetch = this.#network.fetch ?? ((...args) => fetch(...args));
    this.credentials = new CredentialKeeper(options.wallet.did, {
      delegation: options.createDelegation,
      ...(options.createInvocation ? { invocation: options.createInvocation } : {}),
    });
  }

  /** The one way to an oracle, so that all who use it share what it remembers. */
  api(baseUrl: string, oracleDid: string): OracleApi {
    const base = baseUrl.replace(/\/+$/, "");
    const key = `${base} ${oracleDid}`;
    const api =
      this.#apis.get(key) ??
      new OracleApi(base, oracleDid, this.credentials, this.fetch, this.wallet.matrix);
    this.#apis.set(key, api);
    dropOldest(this.#apis, mostKept);
    return api;
  }

  /** What is kept under a key, for all who show it. */
  resource<T>(key: string): Resource<T> {
    const known = this.#resources.get(key) ?? new Resource<unknown>();
    this.#resources.set(key, known);
    dropOldest(this.#resources, mostKept, (k) => k === key || !!this.#resources.get(k)?.isUsed);
    return known as Resource<T>;
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

  /** Says what a page draws components with; nothing when it leaves. Equal maps change nothing. */
  setComponents(page: object, given: Components | undefined): void {
    const known = this.components.get();
    if (isSame(known.get(page), given)) return;
    const next = new Map(known);
    if (given) next.set(page, given);
    else next.delete(page);
    this.components.set(next);
  }

  /** Opens a conversation, or joins the open one, for a page of its own. Call release when done. */
  open(at: ChatAddress, page: ChatPage): { open: OpenChat; release: () => void } {
    const joined = this.join(at, page);
    const { open } = joined;
    if (!open.read) void open.chat.open();
    open.read = true;
    return joined;
  }

  /** The live channel of a conversation for who does not read it. Call release when done. */
  join(at: ChatAddress, page: ChatPage): { open: Shared; release: () => void } {
    const key = JSON.stringify([at.oracleDid, at.sessionId, at.baseUrl, at.wsUrl]);
    let shared = this.#chats.get(key);
    if (shared) {
      clearTimeout(shared.closing);
      shared.closing = undefined;
    } else {
      shared = this.#make(at);
      this.#chats.set(key, shared);
    }
    shared.pages = [...shared.pages, page];
    const { oracleDid, baseUrl } = this.spokenTo.get() ?? {};
    if (oracleDid !== at.oracleDid || baseUrl !== at.baseUrl) this.spokenTo.set(at);
    const mine = shared;
    return {
      open: mine,
      release: () => {
        if (!mine.pages.includes(page)) return;
        mine.pages = mine.pages.filter((p) => p !== page);
        if (mine.pages.length > 0) return;
        mine.closing = setTimeout(() => {
          this.#chats.delete(key);
          mine.chat.close();
          mine.socket.close();
        }, linger);
      },
    };
  }

  #make(at: ChatAddress): Shared {
    const api = this.api(at.baseUrl, at.oracleDid);
    const last = <T>(read: (page: ChatPage) => T | undefined): T | undefined =>
      shared.pages.map(read).findLast((value) => value !== undefined);
    const tools = (): BrowserTools =>
      Object.assign({}, ...shared.pages.map((page) => page.browserTools()));
    const tabId = randomId();
    const host: ChatHost = {
      tabId,
      multitask: () => last((page) => page.multitask?.()),
      streamingMode: () => last((page) => page.streamingMode()) ?? "batched",
      model: () => last((page) => page.model()),
      tools: () => declareTools(tools()),
      actions: () => declareActions(this.actions.get().values()),
      // Hooks of other entries are pages too, and some of them do not care.
      paymentRequired: (claims) =>
        shared.pages.findLast((page) => page.paymentRequired)?.paymentRequired?.(claims),
    };
    const chat = new Chat(api, at.sessionId, host, at.pageSize);
    let greeted = false;
    const page: SocketHost = {
      call: (kind, name, args) =>
        kind === "tool"
          ? runTool(tools(), name, args)
          : runAction(this.actions.get().get(name), name, args),
      event: (event) => {
        // A line that is back may have missed events while it was away.
        const missed = event.eventName === "connected" && greeted;
        greeted ||= event.eventName === "connected";
        if (shared.read && missed) void chat.changed();
        else if (shared.read && event.eventName === "connected") chat.connected();
        if (shared.read) chat.takeEvent(event);
        for (const page of shared.pages) page.event(event);
      },
    };
    const socket = new OracleSocket(
      at.wsUrl,
      at.oracleDid,
      at.sessionId,
      this.credentials,
      page,
      tabId,
      this.#network.connect,
    );
    const shared: Shared = { chat, socket, pages: [], read: false, closing: undefined };
    return shared;
  }
}

/** Whether two maps have the same components, whichever objects carry them. */
function isSame(a: Components = {}, b: Components = {}): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
