import { say, type Failure, type Key } from ".";

/** What the server calls kinds of failures (internal/platform/fault), by the statuses that they have. */
const kinds: Record<number, Key> = {
  400: "errors.invalid",
  401: "errors.unauthenticated",
  402: "errors.payment_required",
  403: "errors.forbidden",
  404: "errors.not_found",
  405: "errors.method_not_allowed",
  409: "errors.conflict",
  410: "errors.gone",
  412: "errors.precondition",
  413: "errors.too_large",
  415: "errors.unsupported_media",
  416: "errors.range_unsatisfiable",
  429: "errors.rate_limited",
  499: "errors.canceled",
  500: "errors.internal",
  501: "errors.unimplemented",
  503: "errors.unavailable",
  504: "errors.timeout",
  507: "errors.storage_full",
};

/**
 * What it calls failures that people meet here. A test of the program compares them with all that it has: the
 * rest is said by its kind, with the server's own words.
 */
const codes: Record<string, Key> = {
  link_over: "errors.link_over",
  link_full: "errors.link_full",
  quota_exceeded: "errors.quota_exceeded",
  owner_only: "errors.owner_only",
  read_only: "errors.read_only",
  bad_path: "errors.bad_path",
  folder_too_large: "errors.folder_too_large",
  no_parent: "errors.no_parent",
  too_many_folders: "errors.too_many_folders",
  out_of_scope: "errors.out_of_scope",
  ability_not_granted: "errors.ability_not_granted",
  delegation_required: "errors.delegation_required",
  precondition_failed: "errors.precondition_failed",
  digest_mismatch: "errors.digest_mismatch",
  checksum_mismatch: "errors.checksum_mismatch",
  corrupt: "errors.corrupt",
  upload_locked: "errors.upload_locked",
  lock_in_the_way: "errors.lock_in_the_way",
  not_a_member: "errors.not_a_member",
  blocked: "errors.blocked",
  invitation_unknown: "errors.invitation_unknown",
  invitation_over: "errors.invitation_over",
  setup_link_unknown: "errors.setup_link_unknown",
  setup_link_over: "errors.setup_link_over",
  role_too_low: "errors.role_too_low",
  owner_needed: "errors.owner_needed",
  own_role: "errors.own_role",
  has_role: "errors.has_role",
  ended: "errors.ended",
  expired: "errors.expired",
  revoked: "errors.revoked",
  not_yet_valid: "errors.not_yet_valid",
  key_taken: "errors.key_taken",
  key_used: "errors.key_used",
  own_request: "errors.own_request",
  name_taken: "errors.name_taken",
  too_many_app_keys: "errors.too_many_app_keys",
  too_many_webhooks: "errors.too_many_webhooks",
  webhook_address: "errors.webhook_address",
  collection_exists: "errors.collection_exists",
  too_many_collections: "errors.too_many_collections",
  too_many_questions: "errors.too_many_questions",
  question_settled: "errors.question_settled",
  run_active: "errors.run_active",
  messages_per_day: "errors.messages_per_day",
  model_cost_per_day: "errors.model_cost_per_day",
  context_length_exceeded: "errors.context_length_exceeded",
  lost: "errors.lost",
  interrupted: "errors.interrupted",
  server_restarting: "errors.server_restarting",
  approval_over: "errors.approval_over",
  approval_answered: "errors.approval_answered",
  call_limit: "errors.call_limit",
  call_ended: "errors.call_ended",
  fingerprint_mismatch: "errors.fingerprint_mismatch",
  throttled: "errors.throttled",
};

/** Those by which the server means one of several things, or says what to do in more words: it is heard, too. */
const withDetail = new Set<string | undefined>([
  "bad_path",
  "call_limit",
  "collection_exists",
  "expired",
  "folder_too_large",
  "has_role",
  "name_taken",
  "own_role",
  "owner_needed",
  "quota_exceeded",
  "too_many_app_keys",
  "too_many_collections",
  "webhook_address",
]);

function kindOf(status: number): Key {
  if (status === 502) return "errors.unavailable";
  return kinds[status] ?? (status >= 500 ? "errors.internal" : "errors.invalid");
}

/** A failure in the reader's language. What has no words of its own is told as the server says it, too. */
export function inWords({ status, code, message }: Failure): string {
  const own = code !== undefined && Object.hasOwn(codes, code) ? codes[code] : undefined;
  if (!own && status === undefined) return message;
  const text = say(own ?? kindOf(status ?? 0));
  const isHeard = message !== "" && (!own || withDetail.has(code));
  return isHeard ? say("errors.says", { text, detail: message }) : text;
}
