import { askInPerson, type KeyCode } from "../../identity/newKeys";
import type { Session } from "../../identity/session";

/** An account of a telephone that is the same person as whoever is signed in. */
export interface Telephone {
  account: string;
  linkedAt: string;
}

const path = "/api/telephones";

export async function fetchTelephones(session: Session): Promise<Telephone[]> {
  return (await askInPerson<{ telephones: Telephone[] }>(session, path)).telephones;
}

/** A code that is typed at the telephone, which is the same person from then on. */
export function askToLink(session: Session, account: string): Promise<KeyCode> {
  return askInPerson(session, path, "POST", { account });
}

/** A code that sets a new PIN at a telephone that is linked. */
export function askToReset(session: Session, account: string): Promise<KeyCode> {
  return askInPerson(session, `${path}/${encodeURIComponent(account)}/reset-pin`, "POST");
}
