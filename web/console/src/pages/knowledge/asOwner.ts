import { fileToken, type Session } from "../../identity/session";
import { refusal } from "../../shell/refusal";

/** Asks a route for whoever has every right in the folders of the collections. */
export async function askAsOwner<T>(
  session: Session,
  path: string,
  method = "GET",
  body?: object,
): Promise<T> {
  const reply = await fetch(`/api/knowledge${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${await fileToken(session)}`,
      ...(body && { "Content-Type": "application/json" }),
    },
    body: body ? JSON.stringify(body) : null,
  });
  if (!reply.ok) throw await refusal(reply);
  return (await reply.json().catch(() => ({}))) as T;
}
