import {
  inSeconds,
  issue,
  newKey,
  privateText,
  type Capability,
} from "@castalia/oracles-client/wallet";
import type { Session } from "../../identity/session";
import { bytes, plural } from "../../shell/format";

/** What somebody is about to be given. */
export interface Offer {
  /** Content, by CID; or a folder with all that is and will be in it. */
  what:
    | { kind: "files"; cids: string[]; names: string[]; paths?: string[] }
    | { kind: "folder"; path: string };
  hours: number;
  /** 0 is without limit. */
  maxUses: number;
  /** An address that is all that is needed, in any browser and for any program. */
  isPlain?: boolean;
  /** Others send files to the folder, up to so much; then nothing can be read. */
  takes?: { maxBytes: number; maxFiles: number };
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
  if (offer.takes) return inUploadWords(offer, offer.takes);
  if (offer.isPlain) return inPlainWords(offer);
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
  grants.push(endOf(offer));
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

function endOf({ hours, maxUses }: Offer): string {
  return (
    `It ends after ${period(hours)}` +
    (maxUses > 0 ? `, or when it has been read ${plural(maxUses, "time")}.` : ".")
  );
}

function inPlainWords(offer: Offer): { grants: string[]; keeps: string[] } {
  const { what } = offer;
  const shown =
    what.kind === "files"
      ? `${what.names.join(", ")}, always in its newest version`
      : `everything in ${what.path === "/" ? "all your files" : what.path} but hidden files, also what you put there later`;
  return {
    grants: [
      `Whoever has the address can read ${shown}: in any browser, or with a program such as curl.`,
      "The address is the secret. It stays in the histories of browsers and in the logs of servers on the way.",
      endOf(offer),
    ],
    keeps: [
      "Nobody can change or delete anything with it.",
      "You can end it at any time under Links.",
    ],
  };
}

function inUploadWords({ what, hours }: Offer, takes: NonNullable<Offer["takes"]>) {
  const folder = what.kind === "folder" && what.path !== "/" ? what.path : "your files";
  return {
    grants: [
      `Whoever has the address can send files to ${folder}: from any browser, or with curl -T.`,
      `It ends after ${period(hours)}, ${plural(takes.maxFiles, "file")} or ${bytes(takes.maxBytes)}, whichever comes first.`,
    ],
    keeps: [
      "Nobody sees what is in the folder, or replaces anything there.",
      "What is sent counts towards your quota.",
      "You can end it at any time under Links.",
    ],
  };
}

/** Where a plain link leads; undefined where there can be none: it is for one file, or one folder. */
export function plainPath(what: Offer["what"]): string | undefined {
  if (what.kind === "folder") return what.path;
  return what.paths?.length === 1 ? what.paths[0] : undefined;
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
