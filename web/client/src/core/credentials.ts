import { mayPass } from "./again";
import { asError } from "./errors";

/** A minted token and when it ends, in milliseconds. */
export interface MintedToken {
  serialized: string;
  expiresAt: number;
}

export type Mint = (oracleDid: string) => Promise<MintedToken>;

/** Where tokens are kept between page loads; localStorage fits. */
export interface TokenStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
}

export type TokenKind = "delegation" | "invocation";

const storageKeys: Record<TokenKind, string> = {
  delegation: "oracles_ucan_delegations",
  invocation: "oracles_ucan_invocations",
};

/** How long before its end a token is renewed. */
const margins: Record<TokenKind, number> = { delegation: 5 * 60_000, invocation: 30_000 };

/**
 * Keeps the user's tokens for oracles: minted when needed, cached per user and
 * oracle, renewed before they end, and minted once however many ask.
 */
export class CredentialKeeper {
  readonly #userDid: string;
  readonly #mints: Partial<Record<TokenKind, Mint>>;
  readonly #storage: TokenStorage | undefined;
  readonly #memory = new Map<string, MintedToken>();
  readonly #minting = new Map<string, Promise<string>>();
  /** What the wallet refused. It is not asked again before the user does something. */
  readonly #refusals = new Map<string, Error>();

  constructor(
    userDid: string,
    mints: Partial<Record<TokenKind, Mint>>,
    storage: TokenStorage | undefined = defaultStorage(),
  ) {
    this.#userDid = userDid;
    this.#mints = mints;
    this.#storage = storage;
  }

  /** Whether tokens of this kind can be made at all. */
  can(kind: TokenKind): boolean {
    return this.#mints[kind] !== undefined;
  }

  /** A token that is good for now, or undefined when this kind is not minted here. */
  async get(kind: TokenKind, oracleDid: string): Promise<string | undefined> {
    if (!this.can(kind)) return undefined;
    const cached = this.#read(kind, oracleDid);
    if (cached && cached.expiresAt - margins[kind] > Date.now()) return cached.serialized;
    try {
      return await this.renew(kind, oracleDid);
    } catch (cause) {
      // The user may decline to sign early: the old token is good to its end.
      if (cached && cached.expiresAt > Date.now()) return cached.serialized;
      throw cause;
    }
  }

  /**
   * A new token; concurrent callers share one mint. Who says which token was
   * refused gets the one that took its place meanwhile, if there is one.
   */
  renew(kind: TokenKind, oracleDid: string, refused?: string): Promise<string> {
    const mint = this.#mints[kind];
    if (!mint) return Promise.reject(new Error(`no way to mint a ${kind}`));
    const current = refused === undefined ? undefined : this.#read(kind, oracleDid);
    if (current && current.serialized !== refused && current.expiresAt > Date.now()) {
      return Promise.resolve(current.serialized);
    }
    const slot = `${kind} ${oracleDid}`;
    const running = this.#minting.get(slot);
    if (running) return running;
    const refusal = this.#refusals.get(slot);
    if (refusal) return Promise.reject(refusal);
    const minting = Promise.resolve()
      .then(() => mint(oracleDid))
      .then((token) => {
        if (!isToken(token)) {
          throw new Error("it is not { serialized, expiresAt }, with milliseconds since 1970");
        }
        this.#write(kind, oracleDid, token);
        return token.serialized;
      })
      .catch((cause: unknown) => {
        const error = new Error(`The ${kind} could not be made: ${asError(cause).message}`, {
          cause,
        });
        // A line that broke is no refusal: what is loaded asks again when it is back.
        if (!mayPass(error)) this.#refusals.set(slot, error);
        throw error;
      })
      .finally(() => this.#minting.delete(slot));
    this.#minting.set(slot, minting);
    return minting;
  }

  /** The user did something: a wallet that refused is asked once more. */
  askAgain(): void {
    this.#refusals.clear();
  }

  /**
   * What says who is calling. Either token is enough; with neither, it says why. An
   * act of the user asks a wallet that refused once more, if there is no token at all.
   */
  async tokens(oracleDid: string, isAct = false): Promise<Partial<Record<TokenKind, string>>> {
    const kinds = ["invocation", "delegation"] as const;
    const isGood = (kind: TokenKind) => (this.#read(kind, oracleDid)?.expiresAt ?? 0) > Date.now();
    if (isAct && !kinds.some(isGood)) this.askAgain();
    const got = await Promise.allSettled(kinds.map((kind) => this.get(kind, oracleDid)));
    const tokens: Partial<Record<TokenKind, string>> = {};
    kinds.forEach((kind, i) => {
      const one = got[i];
      if (one?.status === "fulfilled" && one.value !== undefined) tokens[kind] = one.value;
    });
    const failed = got.find((one) => one.status === "rejected");
    if (failed && Object.keys(tokens).length === 0) throw failed.reason;
    return tokens;
  }

  /** The headers that say who is calling. */
  async headers(oracleDid: string, isAct = false): Promise<Record<string, string>> {
    const { invocation, delegation } = await this.tokens(oracleDid, isAct);
    const headers: Record<string, string> = {};
    if (invocation) {
      headers["Authorization"] = `Bearer ${invocation}`;
      headers["X-Auth-Type"] = "ucan";
    }
    if (delegation) headers["x-ucan-delegation"] = delegation;
    return headers;
  }

  #slot(oracleDid: string): string {
    return `${this.#userDid}::${oracleDid}`;
  }

  #read(kind: TokenKind, oracleDid: string): MintedToken | undefined {
    const slot = this.#slot(oracleDid);
    const key = `${kind} ${slot}`;
    const remembered = this.#memory.get(key);
    if (remembered && remembered.expiresAt - margins[kind] > Date.now()) return remembered;
    // Another tab may have asked the user already.
    const stored = this.#stored(kind)[slot];
    if (!stored || (remembered && remembered.expiresAt >= stored.expiresAt)) return remembered;
    this.#memory.set(key, stored);
    return stored;
  }

  #write(kind: TokenKind, oracleDid: string, token: MintedToken): void {
    const slot = this.#slot(oracleDid);
    this.#memory.set(`${kind} ${slot}`, token);
    const live = Object.entries(this.#stored(kind)).filter(([, old]) => old.expiresAt > Date.now());
    const all = { ...Object.fromEntries(live), [slot]: token };
    try {
      this.#storage?.setItem(storageKeys[kind], JSON.stringify(all));
    } catch {
      // A full or forbidden storage costs a mint on the next page, nothing more.
    }
  }

  #stored(kind: TokenKind): Record<string, MintedToken> {
    try {
      const parsed: unknown = JSON.parse(this.#storage?.getItem(storageKeys[kind]) ?? "{}");
      if (parsed === null || typeof parsed !== "object") return {};
      // Other pages of the origin write there too: what is no token is left out.
      return Object.fromEntries(
        Object.entries(parsed).filter((e): e is [string, MintedToken] => isToken(e[1])),
      );
    } catch {
      return {};
    }
  }
}

/** Whoever counts seconds says less: in milliseconds it is 1973. */
const earliest = 1e11;

function isToken(value: unknown): value is MintedToken {
  const token = value as Partial<MintedToken> | null | undefined;
  return (
    typeof token?.serialized === "string" &&
    token.serialized !== "" &&
    typeof token.expiresAt === "number" &&
    token.expiresAt > earliest
  );
}

function defaultStorage(): TokenStorage | undefined {
  try {
    return typeof localStorage === "undefined" ? undefined : localStorage;
  } catch {
    return undefined;
  }
}
