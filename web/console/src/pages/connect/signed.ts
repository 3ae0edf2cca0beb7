import { mintInvocation, type Session } from "../../identity/session";
import { refusal } from "../../shell/refusal";

/** Asks the server as whoever is signed in; a refusal is thrown with the server's words. */
export async function signed<T>(
  session: Session,
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  const { serialized } = await mintInvocation(session);
  const reply = await fetch(path, {
    method,
    headers: {
      Authorization: `Bearer ${serialized}`,
      "X-Auth-Type": "ucan",
      ...(body && { "Content-Type": "application/json" }),
    },
    body: body ? JSON.stringify(body) : null,
  });
  if (!reply.ok) throw await refusal(reply);
  return (await reply.json().catch(() => ({}))) as T;
}
