import { RequestError } from "@castalia/oracles-client";
import { messageOf, type Labels } from "../labels";

type Failed = "finding" | "reading" | "sending";

/**
 * What to do about what the oracle refuses for good; nothing where trying again may help. What is wrong with a
 * message is said of one that was sent, and that a conversation is gone of one that was read.
 */
function insteadOf(failed: Failed, cause: unknown, labels: Labels): string {
  const status = cause instanceof RequestError ? cause.status : 0;
  if (status === 403) return labels.notAllowed;
  if (failed === "reading" && (status === 404 || status === 410)) return labels.notThere;
  if (failed !== "sending") return "";
  if (status === 413) return labels.tooLarge;
  return status === 400 || status === 422 ? labels.sayOtherwise : "";
}

/** What went wrong, and what to do about it. Of a conversation that is gone the latter says it all. */
export function troubleOf(failed: Failed, cause: unknown, labels: Labels): string {
  const instead = insteadOf(failed, cause, labels);
  if (instead === labels.notThere) return instead;
  return `${messageOf(cause, labels)} ${instead}`.trim();
}
