import { RequestError } from "@castalia/oracles-client";
import type { Labels } from "../labels";

/** What to do about what the oracle refuses for good; nothing where trying again may help. */
export function insteadOf(
  cause: unknown,
  labels: Pick<Labels, "notAllowed" | "notThere" | "tooLarge" | "sayOtherwise">,
): string {
  const status = cause instanceof RequestError ? cause.status : 0;
  if (status === 401 || status === 403) return labels.notAllowed;
  if (status === 404 || status === 410) return labels.notThere;
  if (status === 413) return labels.tooLarge;
  return status === 400 || status === 422 ? labels.sayOtherwise : "";
}
