import { operatorToken, useSession, type Session } from "../../identity/session";
import { useAsked, type Asked } from "../../shell/asked";
import { refusal as refused } from "../../shell/refusal";
import type { Role } from "./people";

const tokenKey = "castalia-operator-token";

/** The token of the server's settings, if it was entered here. */
export function enteredToken(): string {
  return sessionStorage.getItem(tokenKey) ?? "";
}

export function keepOperatorToken(token: string): void {
  sessionStorage.setItem(tokenKey, token);
}

/** The server takes this browser for nobody's operator. */
export class NotOperator extends Error {}

/** Who asks: whoever entered the server's token, else the signed-in key with its role. */
export async function authorisation(session: Session): Promise<Record<string, string>> {
  const token = enteredToken();
  return token
    ? { Authorization: `Bearer ${token}` }
    : { Authorization: `Bearer ${await operatorToken(session)}`, "X-Auth-Type": "ucan" };
}

export async function ask<T>(
  session: Session,
  path: string,
  method = "GET",
  body?: object,
  more: Record<string, string> = {},
): Promise<T> {
  const reply = await fetch(path, {
    method,
    headers: {
      ...(await authorisation(session)),
      ...(body ? { "Content-Type": "application/json" } : {}),
      ...more,
    },
    body: body ? JSON.stringify(body) : null,
  });
  if (reply.ok) return (reply.status === 204 ? undefined : await reply.json()) as T;
  throw await refusal(reply);
}

/** Asks for something that is kept as a file. */
export async function askBlob(session: Session, path: string, method = "GET"): Promise<Blob> {
  const reply = await fetch(path, { method, headers: await authorisation(session) });
  if (reply.ok) return reply.blob();
  throw await refusal(reply);
}

/** Why the server refused. */
async function refusal(reply: Response): Promise<Error> {
  const why = await refused(reply);
  if (reply.status === 401 || why.said.startsWith("Cannot ")) return new NotOperator(why.message);
  return why;
}

/** Asks now, and every few seconds while the page is in sight. */
export function useLook<T>(path: string, every = 5000): Asked<T> {
  const session = useSession();
  return useAsked<T>({
    queryKey: [path],
    queryFn: () => ask<T>(session, path),
    refetchInterval: every,
  });
}

/** Who the server takes this browser for. */
export interface Me {
  name: string;
  role: Role;
}

/**
 * Who the server takes this browser for now; null: for nobody's operator. It is asked again every
 * few seconds, and when somebody comes back to the page: a role that was given or taken away shows.
 */
export function useMe(): Asked<Me | null> {
  const session = useSession();
  return useAsked<Me | null>({
    queryKey: ["/operator/me"],
    queryFn: () =>
      ask<Me>(session, "/operator/me").catch((cause: unknown) => {
        if (cause instanceof NotOperator) return null;
        throw cause;
      }),
    refetchInterval: 5000,
  });
}
