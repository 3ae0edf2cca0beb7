/** What the page's own server tells it. */
export interface Host {
  /** Where the oracle is. */
  server: string;
  oracleDid: string;
  userDid: string;
}

export const host = (await (await fetch("/host")).json()) as Host;

/** Your page asks the user's wallet here; this one asks its own server, which has a key. */
export async function mint(kind: "delegation" | "invocation") {
  const reply = await fetch(`/mint/${kind}?audience=${encodeURIComponent(host.oracleDid)}`);
  if (!reply.ok) throw new Error(await reply.text());
  return (await reply.json()) as { serialized: string; expiresAt: number };
}
