import type { CredentialKeeper } from "./credentials";
import { errorFrom, RequestError } from "./errors";
import { homeserverUrl } from "./openid";
import type { IWallet } from "./types";

/** How long the oracle's wish for a delegation is not heard again: a mint may ask the user. */
const depositPause = 60_000;

export interface RequestOptions {
  method?: string;
  body?: unknown;
  signal?: AbortSignal;
  /** Told when it goes out: before, a wallet may ask its user for as long as it likes. */
  onSent?: () => void;
  /** Told when an answer begins, also one after which it goes out again. */
  onAnswered?: () => void;
  headers?: Record<string, string>;
  /** Public routes are asked without credentials. */
  anonymous?: boolean;
}

/** Speaks HTTP to one oracle in one user's name. */
export class OracleApi {
  #depositing: Promise<void> | undefined;
  #depositedAt = -Infinity;

  constructor(
    readonly baseUrl: string,
    readonly oracleDid: string,
    readonly credentials: CredentialKeeper,
    readonly fetcher: typeof fetch = (...args) => fetch(...args),
    /** The user's Matrix session, with which the oracle reads files of their rooms. */
    readonly matrix?: IWallet["matrix"],
  ) {}

  /** Sends a request and returns the response when it is a success. */
  async send(path: string, options: RequestOptions = {}): Promise<Response> {
    const isAct = (options.method ?? "GET") !== "GET";
    const headers = options.anonymous ? {} : await this.credentials.headers(this.oracleDid, isAct);
    let response = await this.#once(path, options, headers);
    // A refused token is renewed once. A POST that was refused was not carried
    // out, so repeating it does nothing twice.
    if (response.status === 401 && !options.anonymous) {
      await response.body?.cancel().catch(() => undefined);
      const bearer = headers["Authorization"]?.replace(/^Bearer /, "");
      if (bearer) await this.credentials.renew("invocation", this.oracleDid, bearer);
      else await this.credentials.renew("delegation", this.oracleDid, headers["x-ucan-delegation"]);
      response = await this.#once(path, options, await this.credentials.headers(this.oracleDid));
    }
    if (response.headers.get("X-Delegation-Required") === "1") void this.deposit();
    if (!response.ok) throw await errorFrom(response);
    return response;
  }

  async json<T>(path: string, options: RequestOptions = {}): Promise<T> {
    const response = await this.send(path, options);
    const text = await response.text();
    try {
      return (text === "" ? null : JSON.parse(text)) as T;
    } catch {
      throw new RequestError(response.status, "The oracle answered with something else than JSON");
    }
  }

  /**
   * Hands a fresh delegation to the oracle, because it asked for one. Failures
   * are left to the next time: nothing that the user does depends on it.
   */
  deposit(): Promise<void> {
    if (this.#depositing) return this.#depositing;
    const early = Date.now() - this.#depositedAt < depositPause;
    if (early || !this.credentials.can("delegation")) return Promise.resolve();
    this.#depositedAt = Date.now();
    this.#depositing = this.credentials
      .renew("delegation", this.oracleDid)
      .then((raw) => this.json("/delegation", { method: "POST", body: { raw } }))
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => {
        this.#depositing = undefined;
      });
    return this.#depositing;
  }

  /** The session goes along with what the user does. Nothing that is only read needs it. */
  #matrixHeaders(): Record<string, string> {
    const { accessToken, homeServer } = this.matrix ?? {};
    if (!accessToken || !homeServer) return {};
    return {
      "x-matrix-access-token": accessToken,
      "x-matrix-homeserver": homeserverUrl(homeServer),
    };
  }

  async #once(
    path: string,
    options: RequestOptions,
    auth: Record<string, string>,
  ): Promise<Response> {
    options.onSent?.();
    const response = await this.fetcher(this.baseUrl + path, {
      method: options.method ?? "GET",
      headers: {
        ...options.headers,
        ...(options.body === undefined ? {} : { "Content-Type": "application/json" }),
        ...auth,
        ...(options.method && !options.anonymous ? this.#matrixHeaders() : {}),
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      ...(options.signal ? { signal: options.signal } : {}),
    });
    options.onAnswered?.();
    return response;
  }
}
