import { explained, say } from "../words";

/** What the server calls a failure, for programs. */
const header = "Castalia-Error";

/** A request that the server refused, in the reader's words. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    /** What the server itself said, if it said something. */
    readonly said: string,
    readonly code = "",
  ) {
    const why = explained({ status, code, message: said });
    super(why || say("shell.serverAnswered", { status: String(status) }));
  }
}

/** Why the server refused, of an answer that nobody has read. */
export async function refusal(reply: Response): Promise<Refusal> {
  return refusalOf(reply, await reply.json().catch(() => ({})));
}

/** Why it refused, of an answer whose body was read. */
export function refusalOf(reply: Response, body: unknown): Refusal {
  const { message, error } = (body ?? {}) as { message?: unknown; error?: unknown };
  const said = Array.isArray(message) ? message.map(String).join("; ") : message;
  // Bodies of files name it too; elsewhere the member is the name of the status.
  const named = typeof error === "string" && /^[a-z_]+$/.test(error) ? error : "";
  const word = reply.headers.get(header) ?? "";
  // What is wrong inside has one name there; the body may say more.
  const code = word && word !== "internal" ? word : named || word;
  return new Refusal(reply.status, typeof said === "string" ? said : "", code);
}
