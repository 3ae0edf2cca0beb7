import { list, number, short } from "../../../shell/format";
import { say } from "../../../words";

/** An account of a telephone, as operators see it. */
export interface Account {
  account: string;
  /** Masked. */
  phoneNumber: string;
  name: string;
  email?: string;
  language: string;
  createdAt: string;
  closedAt?: string;
  /** The person that it is linked with. */
  did?: string;
}

export interface Accounts {
  accounts: Account[];
}

/** What was done to an account. */
export interface Act {
  at: string;
  actor: string;
  act: string;
  detail?: string;
}

/** A code that resets a PIN; sent: how many digits before it went to the telephone. */
export interface Told {
  code: string;
  sent?: number;
  expiresAt: string;
}

/** What POST …/erase says. */
export interface Receipt {
  account: string;
  erasedAt: string;
  by: string;
  sessions: number;
  questions: number;
  attempts: number;
  codes: number;
  links: number;
  forms: number;
  conversations: number;
  telephone: boolean;
}

export const accountsPath = "/operator/ussd/accounts";
export const actsPath = "/operator/ussd/acts";
export const formsPath = "/operator/ussd/forms";

/** How much of a list is read at a time. */
const page = 50;

export function accountPath(account: string): string {
  return `${accountsPath}/${encodeURIComponent(account)}`;
}

export function accountsAfter(after: string): string {
  return `${accountsPath}?${pageAfter(after)}`;
}

export function submissionsAfter(form: string, after: string): string {
  return `${formPath(form)}?${pageAfter(after)}`;
}

export function formPath(form: string): string {
  return `${formsPath}/${encodeURIComponent(form)}`;
}

function pageAfter(after: string): URLSearchParams {
  const asked = new URLSearchParams({ limit: String(page) });
  if (after) asked.set("after", after);
  return asked;
}

/** What to look for: a number is one by its plus, however its digits are grouped. */
export function searchOf(typed: string, after: string): object {
  const digits = typed.replaceAll(/[\s().-]/g, "");
  const what = /^\+\d+$/.test(digits) ? { phoneNumber: digits } : { text: typed.trim() };
  return { ...what, limit: page, ...(after ? { after } : {}) };
}

/** Where the next page begins: behind the last one, if this one is full. */
export function nextOf(ids: readonly string[]): string | undefined {
  return ids.length < page ? undefined : ids.at(-1);
}

/** What was done, in words. */
export function actOf({ act }: Act): string {
  return say("phones.act", { act: act.replaceAll(" ", "_"), text: act });
}

/** Who did it: a DID by its ends, everybody else as the server calls them. */
export function actorOf(actor: string): string {
  return actor.startsWith("did:") ? short(actor, 16, 6) : actor;
}

/** What was erased, of what there was. */
export function erasedOf(receipt: Receipt): string {
  const kinds = [
    "sessions",
    "questions",
    "attempts",
    "codes",
    "links",
    "forms",
    "conversations",
  ] as const;
  const parts = kinds
    .filter((kind) => receipt[kind] > 0)
    .map((kind) => say("phones.erasedPart", { kind, count: receipt[kind] }));
  return parts.length > 0 ? list(parts) : say("phones.erasedAlone");
}

/** What GET /operator/ussd/figures says. */
export interface Figures {
  days: number;
  sessions: { begun: number; completed: number; left: number; completion: number };
  drops: { screen: string; left: number }[];
  gateways: {
    dialect: string;
    begun: number;
    requests: number;
    refused: number;
    failed: number;
    p95Ms: number;
  }[];
  refusals: { dialect: string; field: string; rule: string; count: number }[];
  messages: {
    kind: string;
    state: string;
    messages: number;
    parts: number;
    currency?: string;
    cost?: string;
  }[];
  spend: { currency: string; cost: string }[];
}

export const ranges = [7, 30, 90] as const;
export type Range = (typeof ranges)[number];

/** A gateway by its adapter; what has none comes to the session endpoint. */
export function gatewayOf(dialect: string): string {
  return dialect || "/api/ussd";
}

/** A share in hundredths; nothing where there was nothing. */
export function completionOf({ completed, left, completion }: Figures["sessions"]): string {
  return completed + left === 0
    ? "–"
    : number(completion, { style: "percent", maximumFractionDigits: 0 });
}

/** What was spent, by currency. */
export function spendOf(spend: Figures["spend"]): string {
  return spend.length === 0 ? "–" : list(spend.map((one) => moneyOf(one.cost, one.currency)));
}

export function moneyOf(cost: string | undefined, currency: string | undefined): string {
  if (!cost || !currency) return "–";
  const n = Number(cost);
  const digits = n > 0 && n < 1 ? 4 : 2;
  return `${number(n, { minimumFractionDigits: 2, maximumFractionDigits: digits })} ${currency}`;
}

/** A form, and how often it was sent. */
export interface Form {
  form: string;
  submissions: number;
  firstAt: string;
  lastAt: string;
}

/** A form that was sent. */
export interface Submission {
  submission: string;
  at: string;
  account?: string;
  /** Masked. */
  phoneNumber: string;
  language: string;
  values: { field: string; kind: string; value: string }[];
}

/** How the answers of a form are called as a file. */
export function fileOf(form: string): string {
  return `${form.replaceAll(/[^\p{L}\p{N}_-]/gu, "_")}.csv`;
}
