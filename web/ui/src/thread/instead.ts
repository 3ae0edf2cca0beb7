import { RequestError } from "@castalia/oracles-client";
import type { Labels } from "../labels";

/**
 * What to do about what the oracle refuses for good; nothing where trying again may help. What is wrong with a
 * message is said of one that was sent, and that a conversation is gone of one that was read.
 */
export function insteadOf(
  failed: "finding" | "reading" | "sending",
  cause: unknown,
  labels: Pick<Labels, "notAllowed" | "notThere" | "tooLarge" | "sayOtherwise">,
): string {
  const status = cause instanceof RequestError ? cause.status : 0;
  if (status === 403) return labels.notAllowed;
  if (failed === "reading" && (status === 404 || status === 410)) return labels.notThere;
  if (failed !== "sending") return "";
  if (status === 413) return labels.tooLarge;
  return status === 400 || status === 422 ? labels.sayOtherwise : "";
}
