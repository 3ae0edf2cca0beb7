import { postSigned, type Session } from "../../identity/session";
import { refusal } from "../../shell/refusal";

/** The code of an invitation, from the part of the address that no server sees. */
export function codeOf(hash: string): string {
  return /^#[A-Z2-7]{26}$/.test(hash) ? hash.slice(1) : "";
}

/** Makes the signed-in key a member. Doing it again is fine. */
export async function redeem(session: Session, code: string): Promise<void> {
  const reply = await postSigned(session, "/api/invitations/redeem", { code });
  if (reply.ok) return;
  throw await refusal(reply);
}
