import { OracleApi } from "./api";
import { dropOldest } from "./bounded";
import type { Chat, Multitask } from "./chat";
import { CredentialKeeper, type Mint } from "./credentials";
import { naming } from "./errors";
import type { OracleEvent } from "./events";
import type { StreamingMode } from "./flush";
import type { Connect } from "./line";
import { Cell } from "./observable";
import { Resource } from "./resource";
import type { OracleSocket } from "./socket";
import type { AgAction, BrowserTools } from "./tools";
import type { IDraft, IWallet } from "./types";

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

/** An open conversation and the pages that share it. */
export interface Shared extends OpenChat {
  /** The components that show it; of what only one may decide, the last does. */
  pages: ChatPage[];
  /** Whether anybody reads the conversation itself. */
  read: boolean;
  closing: ReturnType<typeof setTimeout> | undefined;
}

/** Makes an open conversation; it is told of the client, for whose pages it is. */
export type Make = (client: OraclesClient, at: ChatAddress) => Shared;

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
  /** By their conversations. */
  readonly drafts = new Cell<ReadonlyMap<string, IDraft>>(new Map());
  /** The conversation that was opened last. */
  readonly spokenTo = new Cell<ChatAddress | undefined>(undefined);
  readonly gateway: string | undefined;
  readonly fetch: typeof fetch;
  readonly network: Network;
  #make: Make | undefined;
  readonly #chats = new Map<string, Shared>();
  readonly #apis = new Map<string, OracleApi>();
  readonly #resources = new Map<string, Resource<unknown>>();

  constructor(options: ClientOptions) {
    this.wallet = options.wallet;
    this.gateway = options.queryGateway;
    this.network = options.network ?? {};
    this.fetch = naming(this.network.fetch);
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

  /** Keeps a message for its conversation, before what is kept there; nothing when it was taken. */
  keepDraft(conversation: string, draft: IDraft | undefined): void {
    const drafts = new Map(this.drafts.get());
    const known = drafts.get(conversation);
    drafts.delete(conversation);
    if (draft) drafts.set(conversation, known ? joined(draft, known) : draft);
    dropOldest(drafts, mostKept);
    this.drafts.set(drafts);
  }

  /** Opens a conversation, or joins the open one, for a page of its own. Call release when done. */
  open(at: ChatAddress, page: ChatPage, make: Make): { open: Shared; release: () => void } {
    this.#make = make;
    const joined = this.join(at, page);
    const { open } = joined;
    if (!open.read) void open.chat.open();
    open.read = true;
    return joined;
  }

  /** Loads what conversations are made with: who shows none yet does without it. */
  async load(): Promise<void> {
    this.#make ??= (await import("./loaded")).default;
  }

  /** Ends when conversations can be joined; undefined where they can be now. */
  loading(): Promise<void> | undefined {
    return this.#make ? undefined : this.load();
  }

  /**
   * The live channel of a conversation for who does not read it, once what makes it is loaded.
   * Call release when done.
   */
  join(at: ChatAddress, page: ChatPage): { open: Shared; release: () => void } {
    const key = JSON.stringify([at.oracleDid, at.sessionId, at.baseUrl, at.wsUrl]);
    let shared = this.#chats.get(key);
    if (shared) {
      clearTimeout(shared.closing);
      shared.closing = undefined;
    } else {
      if (!this.#make) throw new Error("what makes conversations is not loaded");
      shared = this.#make(this, at);
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
}

function joined(first: IDraft, second: IDraft): IDraft {
  return {
    ...second,
    ...first,
    text: [first.text, second.text].filter(Boolean).join("\n\n"),
    attachments: [...(first.attachments ?? []), ...(second.attachments ?? [])],
  };
}

/** Whether two maps have the same components, whichever objects carry them. */
function isSame(a: Components = {}, b: Components = {}): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
