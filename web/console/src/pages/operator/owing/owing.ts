import { list, moment, number } from "../../../shell/format";
import { say, type Key } from "../../../words";

/** A claim on somebody, as GET /operator/claims says. */
export interface Claim {
  id: string;
  did: string;
  amount: number;
  state: "outstanding" | "submitted" | "settled" | "failed";
  at?: string;
  submittedAt?: string;
  /** What could not be done with one that failed, how often it was tried, and why it was not done. */
  step?: string;
  attempts?: number;
  reason?: string;
  failedAt?: string;
}

export interface Claims {
  /** Whether anybody keeps claims here. */
  on: boolean;
  claims: Claim[];
  next?: string;
}

/** What somebody has, as GET /operator/credits says. */
export interface Balance {
  did: string;
  note?: string;
  granted: number;
  available: number;
  held: number;
  spent: number;
  owed: number;
}

export interface Balances {
  on: boolean;
  balances: Balance[];
  next?: string;
  /** A search by note has more than are shown. */
  more?: boolean;
}

export const claimsPath = "/operator/claims";
export const creditsPath = "/operator/credits";

/** How many are read at a time. */
const page = "50";

export function claimsAfter(state: "owed" | "failed", after: string): string {
  const asked = new URLSearchParams({ state, limit: page });
  if (after) asked.set("after", after);
  return `${claimsPath}?${asked}`;
}

export function balancesAfter(search: string, after: string): string {
  const asked = new URLSearchParams({ limit: page });
  if (search) asked.set("search", search);
  if (after) asked.set("after", after);
  return `${creditsPath}?${asked}`;
}

export function retryPath({ id }: Claim): string {
  return `${claimsPath}/${encodeURIComponent(id)}/retry`;
}

const states: Record<Claim["state"], Key> = {
  outstanding: "owing.outstanding",
  submitted: "owing.submitted",
  settled: "owing.settled",
  failed: "owing.failed",
};

/** How far a claim is, in words. */
export function standingOf({ state, at, submittedAt, failedAt }: Claim): string {
  return list([
    say(states[state]),
    ...(at ? [say("owing.since", { when: moment(at) })] : []),
    ...(submittedAt ? [say("owing.submittedAt", { when: moment(submittedAt) })] : []),
    ...(failedAt ? [say("owing.failedAt", { when: moment(failedAt) })] : []),
  ]);
}

/** What could not be done with a claim, and after how many tries. The reason is the registry's own. */
export function failureOf({ step = "", attempts = 0 }: Claim): string {
  return say("owing.couldNot", { step, attempts });
}

export function credits(amount: number): string {
  return say("owing.credits", { amount });
}

/** The columns of accounts. */
export const columns: readonly {
  name: "available" | "held" | "spent" | "owed";
  title: Key;
  /** Left out where there is little room. */
  isMinor?: boolean;
}[] = [
  { name: "available", title: "owing.available" },
  { name: "held", title: "owing.held", isMinor: true },
  { name: "spent", title: "owing.spent", isMinor: true },
  { name: "owed", title: "owing.owed" },
];

export function amountOf(balance: Balance, name: (typeof columns)[number]["name"]): string {
  return number(balance[name]);
}
