import { useCallback, useEffect, useState } from "react";
import { messageOf } from "../../shell/format";

const tokenKey = "castalia-operator-token";

export function operatorToken(): string {
  return sessionStorage.getItem(tokenKey) ?? "";
}

export function keepOperatorToken(token: string): void {
  sessionStorage.setItem(tokenKey, token);
}

/** The server takes this browser for nobody's operator. */
export class NotOperator extends Error {}

export async function ask<T>(path: string, method = "GET", body?: object): Promise<T> {
  const token = operatorToken();
  const reply = await fetch(path, {
    method,
    headers: {
      ...(token ? { Authorization: `Bearer ${token}` } : {}),
      ...(body ? { "Content-Type": "application/json" } : {}),
    },
    body: body ? JSON.stringify(body) : null,
  });
  if (reply.ok) return (await reply.json()) as T;
  const said = (await reply.json().catch(() => ({}))) as { message?: string };
  const message = said.message ?? `The server answered ${reply.status}`;
  if (reply.status === 401 || message.startsWith("Cannot ")) throw new NotOperator(message);
  throw new Error(message);
}

export interface Looked<T> {
  data: T | undefined;
  error: string;
  again: () => void;
}

/** Asks now, and every few seconds while the page is in sight. */
export function useLook<T>(path: string, every = 5000): Looked<T> {
  const [state, setState] = useState<{ path: string; data?: T; error: string }>({
    path,
    error: "",
  });
  const again = useCallback(() => {
    ask<T>(path).then(
      (data) => setState({ path, data, error: "" }),
      // What was seen last stays in sight, with what went wrong above it.
      (cause: unknown) =>
        setState((last) => ({
          ...(last.path === path ? last : {}),
          path,
          error: messageOf(cause),
        })),
    );
  }, [path]);
  useEffect(() => {
    again();
    const timer = setInterval(() => {
      if (!document.hidden) again();
    }, every);
    return () => clearInterval(timer);
  }, [again, every]);
  const { data, error } = state.path === path ? state : { data: undefined, error: "" };
  return { data, error, again };
}
