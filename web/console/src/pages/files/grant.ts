import {
  inSeconds,
  issue,
  newKey,
  privateText,
  type Capability,
} from "@castalia/oracles-client/wallet";
import type { Session } from "../../identity/session";
import { bytes } from "../../shell/format";
import { say } from "../../words";

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
  return hours % 24 === 0
    ? say("files.forDays", { n: hours / 24 })
    : say("files.forHours", { n: hours });
}

/** What an offer grants and what it does not, in words. */
export function inWords(offer: Offer): { grants: string[]; keeps: string[] } {
  if (offer.takes) return inUploadWords(offer, offer.takes);
  if (offer.isPlain) return inPlainWords(offer);
  const who = offer.to ? "did" : "link";
  const { what } = offer;
  const grants =
    what.kind === "files"
      ? [
          say("files.grantsContent", { who, names: what.names.join(", ") }),
          say("files.grantsNoNewer"),
        ]
      : what.path === "/"
        ? [say("files.grantsAll", { who })]
        : [say("files.grantsFolder", { who, folder: what.path })];
  grants.push(endOf(offer));
  return {
    grants,
    keeps: [
      say("files.keepsUnchanged"),
      // The store names every file that holds the content, not only the chosen one.
      say(what.kind === "files" ? "files.keepsOtherContent" : "files.keepsElsewhere"),
      say("files.endAnyTime"),
    ],
  };
}

function endOf({ hours, maxUses }: Offer): string {
  return maxUses > 0
    ? say("files.endsAfterUses", { period: period(hours), n: maxUses })
    : say("files.endsAfter", { period: period(hours) });
}

function inPlainWords(offer: Offer): { grants: string[]; keeps: string[] } {
  const { what } = offer;
  const grants =
    what.kind === "files"
      ? say("files.plainGrantsFile", { names: what.names.join(", ") })
      : what.path === "/"
        ? say("files.plainGrantsAll")
        : say("files.plainGrantsFolder", { folder: what.path });
  return {
    grants: [grants, say("files.addressIsSecret"), endOf(offer)],
    keeps: [say("files.keepsUnchanged"), say("files.endAnyTime")],
  };
}

function inUploadWords({ what, hours }: Offer, takes: NonNullable<Offer["takes"]>) {
  const isFolder = what.kind === "folder" && what.path !== "/";
  return {
    grants: [
      isFolder
        ? say("files.uploadGrantsFolder", { folder: what.path })
        : say("files.uploadGrantsAll"),
      say("files.uploadEnds", {
        period: period(hours),
        n: takes.maxFiles,
        size: bytes(takes.maxBytes),
      }),
    ],
    keeps: [say("files.uploadKeeps"), say("files.uploadCounts"), say("files.endAnyTime")],
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
