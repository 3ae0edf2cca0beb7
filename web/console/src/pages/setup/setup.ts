import { postSigned, type Session } from "../../identity/session";
import { ask } from "../operator/api";
import { documentPath, nameText, over, type StoredText } from "../operator/oracle/choices";
import { renamed } from "../../shell/features";
import { refusal } from "../../shell/refusal";

/** Makes the signed-in key the owner, by the code of a setup link. Doing it again is fine. */
export async function becomeOwner(session: Session, code: string): Promise<void> {
  const reply = await postSigned(session, "/api/setup", { code });
  if (reply.ok) return;
  throw await refusal(reply);
}

/** The oracle's instructions, as far as this page knows them. */
export interface Instructions {
  text: string;
  newest: number;
  readOnly: boolean;
  /** The variable or the file that rules. */
  where?: string;
}

export function readInstructions(session: Session): Promise<Instructions> {
  return ask<Instructions>(session, "/operator/documents/instructions");
}

/** What an owner says of the oracle. */
export interface Character {
  name: string;
  language: string;
  about: string;
}

/** The instructions that say it. YAML reads a text in JSON as it is meant. */
export function instructionsOf({ name, language, about }: Character): string {
  const front = language.trim() ? `---\nlanguage: ${JSON.stringify(language.trim())}\n---\n` : "";
  const said = about.trim();
  return `${front}You are ${name.trim()}.${said ? `\n\n${said}` : ""}\n`;
}

export async function writeInstructions(
  session: Session,
  text: string,
  newest: number,
): Promise<void> {
  const body = { text, note: "the first setup" };
  await ask(session, "/operator/documents/instructions", "PUT", body, {
    "If-Match": `"${newest}"`,
  });
}

/** Calls the oracle so for everybody, unless the server's settings say its name. */
export async function callIt(session: Session, name: string): Promise<void> {
  const path = documentPath("name");
  const { readOnly, newest } = await ask<StoredText>(session, path);
  if (readOnly) return;
  await ask(session, path, "PUT", { text: nameText(name) }, over(newest));
  dispatchEvent(new Event(renamed));
}

/** A new link for one person, as they get it. */
export async function invite(session: Session, origin: string): Promise<string> {
  const { path } = await ask<{ path: string }>(session, "/operator/invitations", "POST", {});
  return new URL(path, origin).href;
}
