/** A request that the oracle refused, with what it said. */
export class RequestError extends Error {
  override readonly name: string = "RequestError";
  readonly status: number;
  readonly statusCode: number;
  /** What the oracle calls it, for programs; pages of another origin are not told. */
  readonly code: string | undefined;
  readonly requestId: string | undefined;
  readonly retryAfter: number | undefined;
  readonly body: Record<string, unknown>;

  constructor(
    status: number,
    message: string,
    details: {
      body?: Record<string, unknown>;
      code?: string;
      requestId?: string;
      retryAfter?: number;
    } = {},
  ) {
    super(message);
    this.status = status;
    this.statusCode = status;
    this.body = details.body ?? {};
    this.code = details.code;
    this.requestId = details.requestId;
    this.retryAfter = details.retryAfter;
  }
}

/** The oracle wants to be paid: the claims that are open. */
export class PaymentRequiredError extends RequestError {
  override readonly name = "PaymentRequiredError";
  readonly claimIds: string[];

  constructor(
    status: number,
    message: string,
    claimIds: string[],
    details: ConstructorParameters<typeof RequestError>[2] = {},
  ) {
    super(status, message, details);
    this.claimIds = claimIds;
  }
}

/** A turn that failed, with what the oracle said of it. */
export class TurnError extends Error {
  override readonly name = "TurnError";
  /** What kind of failure it is, where the oracle says so. */
  readonly kind: string | undefined;
  /** Whether the same message may work when it is sent again, where the oracle says so. */
  readonly retryable: boolean | undefined;

  constructor(said: Record<string, unknown>) {
    const { error, kind, retryable } = said;
    super(typeof error === "string" && error !== "" ? error : "The oracle could not answer");
    this.kind = typeof kind === "string" ? kind : undefined;
    this.retryable = typeof retryable === "boolean" ? retryable : undefined;
  }
}

function strings(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((v): v is string => typeof v === "string") : undefined;
}

/** Turns a refused response into an error that says what the server said. */
export async function errorFrom(response: Response): Promise<RequestError> {
  const text = await response.text().catch(() => "");
  let body: Record<string, unknown> = {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (parsed !== null && typeof parsed === "object") body = parsed as Record<string, unknown>;
  } catch {
    // Not JSON: the status line has to do.
  }
  const said = body["message"] ?? body["error"];
  const message = Array.isArray(said)
    ? said.map(String).join("; ")
    : typeof said === "string" && said !== ""
      ? said
      : `The oracle answered ${response.status}`;
  const code = response.headers.get("Castalia-Error");
  const requestId = response.headers.get("X-Request-Id");
  const seconds = Number(response.headers.get("Retry-After"));
  const details = {
    body,
    ...(code ? { code } : {}),
    ...(requestId ? { requestId } : {}),
    ...(Number.isFinite(seconds) && seconds > 0 ? { retryAfter: seconds } : {}),
  };
  const claims = strings(body["claims"]) ?? strings(body["outstandingClaims"]);
  if (claims) return new PaymentRequiredError(response.status, message, claims, details);
  return new RequestError(response.status, message, details);
}

/**
 * A fetch whose failures say who was asked: browsers say only that one failed, and the same of a server that
 * is away and of one that does not let the page's origin ask.
 */
export function naming(fetcher: typeof fetch = (...args) => fetch(...args)): typeof fetch {
  return async (...args) => {
    try {
      return await fetcher(...args);
    } catch (cause) {
      if (!(cause instanceof TypeError)) throw cause;
      const [server = "The server"] = /^\w+:\/\/[^/?#]+/.exec(String(args[0])) ?? [];
      throw new TypeError(`${server} cannot be reached from this page: ${cause.message}`, {
        cause,
      });
    }
  };
}

export function asError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}
