import { errorFrom } from "./errors";

export interface OpenIdToken {
  access_token: string;
  token_type: string;
  matrix_server_name: string;
  expires_in: number;
}

export interface OpenIdRequest {
  userId: string;
  matrixAccessToken: string;
  did?: string;
  homeServer?: string;
}

/** The address of a homeserver that may be told by its name alone. */
export function homeserverUrl(host: string): string {
  return /^https?:\/\//.test(host) ? host.replace(/\/+$/, "") : `https://${host}`;
}

/** Mints a Matrix OpenID token, which proves to others who a Matrix user is. */
export function getOpenIdToken(request: OpenIdRequest): Promise<OpenIdToken> {
  return mintOpenIdToken(request, (...args) => fetch(...args));
}

/** The same, on a network of the caller's. */
export async function mintOpenIdToken(
  request: OpenIdRequest,
  fetcher: typeof fetch,
): Promise<OpenIdToken> {
  const host = request.homeServer ?? request.userId.split(":").slice(1).join(":");
  const base = homeserverUrl(host);
  const user = encodeURIComponent(request.userId);
  const response = await fetcher(`${base}/_matrix/client/v3/user/${user}/openid/request_token`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${request.matrixAccessToken}`,
      "Content-Type": "application/json",
    },
    body: "{}",
  });
  if (!response.ok) throw await errorFrom(response);
  return (await response.json()) as OpenIdToken;
}
