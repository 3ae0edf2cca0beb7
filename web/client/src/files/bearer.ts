import { errorFrom } from "../core/errors";

/** Gives a token for the user's files at the oracle: fs/* in the folders it is for. */
export type FileToken = () => Promise<string>;

/** Where an oracle is; fails while it is not known. */
export function known(baseUrl: string | null): string {
  if (baseUrl === null) throw new Error("The oracle is not found yet. Try again.");
  return baseUrl;
}

/** Asks one of the routes for files, which know the user by another token than the oracle's. */
export async function askFiles<T>(
  at: { baseUrl: string; fetch: typeof fetch; token: FileToken },
  path: string,
  options: { method?: string; body?: unknown } = {},
): Promise<T> {
  const { method = "GET", body } = options;
  const response = await at.fetch(at.baseUrl.replace(/\/+$/, "") + path, {
    method,
    headers: {
      Authorization: `Bearer ${await at.token()}`,
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw await errorFrom(response);
  const text = await response.text();
  return (text === "" ? null : JSON.parse(text)) as T;
}
