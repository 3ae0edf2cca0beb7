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
    return this.renew(kind, oracleDid);
  }

  /** A new token; concurrent callers share one mint. */
  renew(kind: TokenKind, oracleDid: string): Promise<string> {
    const mint = this.#mints[kind];
    if (!mint) return Promise.reject(new Error(`no way to mint a ${kind}`));
    const slot = `${kind} ${oracleDid}`;
    const running = this.#minting.get(slot);
    if (running) return running;
    const minting = Promise.resolve()
      .then(() => mint(oracleDid))
      .then(
        (token) => {
          this.#write(kind, oracleDid, token);
          return token.serialized;
        },
        (cause: unknown) => {
          throw new Error(`The ${kind} could not be made: ${asError(cause).message}`, { cause });
        },
      )
      .finally(() => this.#minting.delete(slot));
    this.#minting.set(slot, minting);
    return minting;
  }

  /** The headers that say who is calling. */
  async headers(oracleDid: string): Promise<Record<string, string>> {
    const [invocation, delegation] = await Promise.all([
      this.get("invocation", oracleDid),
      this.get("delegation", oracleDid),
    ]);
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
    const remembered = this.#memory.get(`${kind} ${slot}`);
    if (remembered) return remembered;
    const token = this.#stored(kind)[slot];
    if (token && typeof token.serialized === "string" && typeof token.expiresAt === "number") {
      this.#memory.set(`${kind} ${slot}`, token);
      return token;
    }
    return undefined;
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
      return parsed !== null && typeof parsed === "object" && !Array.isArray(parsed)
        ? { ...(parsed as Record<string, MintedToken>) }
        : {};
    } catch {
      return {};
    }
  }
}

function defaultStorage(): TokenStorage | undefined {
  try {
    return typeof localStorage === "undefined" ? undefined : localStorage;
  } catch {
    return undefined;
  }
}
