import { privateText, newKey } from "../../identity/key";
import type { Session } from "../../identity/session";
import { inSeconds, issue, type Capability } from "../../identity/ucan";
import { plural } from "../../shell/format";

/** What somebody is about to be given. */
export interface Offer {
  /** Content, by CID; or a folder with all that is and will be in it. */
  what: { kind: "files"; cids: string[]; names: string[] } | { kind: "folder"; path: string };
  hours: number;
  /** 0 is without limit. */
  maxUses: number;
  /** A DID, or nobody in particular: whoever has the link. */
  to?: string;
}

/** A place in the file store as tokens write it. */
export function resource(did: string, path = "/"): string {
  const below = path.split("/").filter(Boolean).map(encodeURIComponent);
  return ["vfs:/", encodeURIComponent(did), ...below].join("/");
}

export function capabilityOf(did: string, offer: Offer): Capability {
  return offer.what.kind === "files"
    ? { can: "fs/read", with: resource(did), nb: { cids: offer.what.cids } }
    : { can: "fs/read", with: resource(did, offer.what.path) };
}

function period(hours: number): string {
  if (hours % 24 === 0) return hours === 24 ? "one day" : plural(hours / 24, "day");
  return hours === 1 ? "one hour" : plural(hours, "hour");
}

/** What an offer grants and what it does not, in words. */
export function inWords(offer: Offer): { grants: string[]; keeps: string[] } {
  const who = offer.to ? "The holder of that DID" : "Whoever has the link";
  const { what } = offer;
  const grants =
    what.kind === "files"
      ? [
          `${who} can read exactly this content: ${what.names.join(", ")}.`,
          "A newer version of a file is other content, and is not included.",
        ]
      : [
          `${who} can list and read everything in ${what.path === "/" ? "all your files" : what.path}, ` +
            "also what you put there later.",
        ];
  grants.push(
    `It ends after ${period(offer.hours)}` +
      (offer.maxUses > 0 ? `, or when it has been read ${plural(offer.maxUses, "time")}.` : "."),
  );
  return {
    grants,
    keeps: [
      "Nobody can change or delete anything with it.",
      // The store names every file that holds the content, not only the chosen one.
      what.kind === "files"
        ? "Other content stays invisible; files with this same content are named."
        : "Files elsewhere stay invisible.",
      "You can end it at any time under Links.",
    ],
  };
}

export interface MadeShare {
  delegation: string;
  link: string;
  /** Where the store files the link. */
  path: string;
}

/**
 * Signs the delegation. A link carries a fresh key in its fragment, which
 * browsers never send; the store sees only the delegation to it.
 */
export async function makeShare(
  session: Session,
  offer: Offer,
  origin: string,
): Promise<MadeShare> {
  const key = offer.to ? undefined : newKey();
  const audience = key?.did ?? offer.to ?? "";
  const delegation = await issue(session.key, {
    audience,
    capabilities: [capabilityOf(session.key.did, offer)],
    expires: inSeconds(offer.hours * 3600),
    nonce: newKey().did.slice(-12),
  });
  const path = offer.what.kind === "folder" ? offer.what.path : "/";
  const fragment = new URLSearchParams({ path, ...(key ? { key: privateText(key) } : {}) });
  fragment.set("token", delegation);
  return { delegation, path, link: `${origin}/console/share#${fragment}` };
}
