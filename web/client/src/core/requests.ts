import type { OraclesClient } from "./client";

/** What a page asks of its oracles by itself. */
export interface Requests {
  /** A token that is good for now. A wallet that refused is asked once more. */
  getDelegation: (oracleDid: string) => Promise<string | undefined>;
  getInvocation: (oracleDid: string) => Promise<string | undefined>;
  /** Sends a request to an oracle in the user's name and returns its JSON. */
  authedRequest: <T>(
    url: string,
    method: string,
    options: { oracleDid: string; body?: unknown },
  ) => Promise<T>;
}

export function requestsOf(client: OraclesClient): Requests {
  return {
    getDelegation: (did) => asked(client).get("delegation", did),
    getInvocation: (did) => asked(client).get("invocation", did),
    authedRequest: (url, method, { oracleDid, body }) =>
      client.api("", oracleDid).json(url, { method, ...(body === undefined ? {} : { body }) }),
  };
}

/** Whoever asks for a token by name wants the wallet to be asked. */
function asked({ credentials }: OraclesClient) {
  credentials.askAgain();
  return credentials;
}
