import {
  fromPrivateText,
  inSeconds,
  issue,
  readToken,
  type Key,
  type Signer,
  type Token,
} from "@castalia/oracles-client/wallet";
import { say } from "../../words";

/** A link as its fragment tells it. */
export interface SharedLink {
  delegation: string;
  token: Token;
  /** The key that the link carries; without it the reader's own is needed. */
  key: Key | undefined;
  folder: string;
  /** The content it reaches, when it is limited to content. */
  cids: string[] | undefined;
}

/** Reads the fragment of a link; whoever made it writes path, key and token. */
export function readLink(hash: string): SharedLink {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const delegation = fields.get("token");
  if (!delegation) throw new Error(say("share.noToken"));
  let token: Token;
  try {
    token = readToken(delegation);
  } catch {
    throw new Error(say("share.tokenUnreadable"));
  }
  const [capability] = token.capabilities;
  if (!capability) throw new Error(say("share.grantsNothing"));
  const cids = capability.nb?.["cids"];
  const key = fields.get("key");
  return {
    delegation,
    token,
    key: key ? fromPrivateText(key) : undefined,
    folder: fields.get("path") ?? "/",
    cids: Array.isArray(cids) ? cids.filter((c) => typeof c === "string") : undefined,
  };
}

/** Tokens under the link: each proves with the delegation and lives shortly. */
export function bearerOf(link: SharedLink, key: Signer, serviceDid: string): () => Promise<string> {
  let token = "";
  let until = 0;
  return async () => {
    if (until - 60 < Date.now() / 1000) {
      const ends = Math.min(inSeconds(900), link.token.expires ?? Infinity);
      token = await issue(key, {
        audience: serviceDid,
        capabilities: link.token.capabilities.slice(0, 1),
        expires: ends,
        proofs: [link.delegation],
      });
      until = ends;
    }
    return token;
  };
}
