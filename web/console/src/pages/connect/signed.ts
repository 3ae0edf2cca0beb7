import { mintInvocation, type Session } from "../../identity/session";
import { say } from "../../words";

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
  const said = (await reply.json().catch(() => ({}))) as T & { message?: string };
  if (!reply.ok)
    throw new Error(said.message ?? say("shell.serverAnswered", { status: reply.status }));
  return said;
}
