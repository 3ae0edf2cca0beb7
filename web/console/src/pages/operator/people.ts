import { ago, bytes, list, number, short } from "../../shell/format";
import { say, type Key } from "../../words";

/** Who may come in: what GET /operator/access says. */
export interface Access {
  access: "open" | "invite" | "closed";
  members: number;
  /** How many the settings of the server name; they are in no list. */
  named: number;
}

export interface Member {
  did: string;
  note?: string;
  /** The invitation by which they came. */
  invitation?: string;
  added?: string;
}

export interface Members {
  members: Member[];
  next?: string;
  /** A search by note has more than are shown. */
  more?: boolean;
}

export const roles = ["viewer", "operator", "owner"] as const;
export type Role = (typeof roles)[number];

/** Somebody with a role. */
export interface Operator {
  did: string;
  role: Role;
  note?: string;
  added: string;
}

/** What each role may do, in words. */
export const roleWords: Record<Role, Key> = {
  viewer: "operator.roleViewer",
  operator: "operator.roleOperator",
  owner: "operator.roleOwner",
};

/** What a DID looks like. */
export const didExample = "did:key:…";

/** The setting that names people who may come in. */
const namedSetting = "ACCESS_DIDS";

export interface Invitation {
  id: string;
  note?: string;
  uses: number;
  maxUses: number;
  expires: string;
  /** Why it does not count any more. */
  over?: string;
}

/** What GET /operator/usage says of one person. */
export interface Usage {
  total: {
    calls: number;
    failed: number;
    inputTokens: number;
    outputTokens: number;
    costMicros: number;
  };
}

/** Somebody who has something here. */
export interface Person {
  did: string;
  note?: string;
  member: boolean;
  role?: string;
  added?: string;
  blocked?: { at: string; by: string; note?: string };
}

/** What GET /operator/people says. */
export interface People {
  people: Person[];
  next?: string;
  /** A search by note has more than are shown. */
  more?: boolean;
}

/** What somebody may have, or what they used; as a limit 0 is none. */
export interface Limits {
  bytes: number;
  messages: number;
  costMicros: number;
}

/** What GET /operator/people/{did}/quota says. */
export interface Quota {
  limit: Limits;
  usual: Limits;
  used: Limits;
  /** What operators chose for this person. */
  own?: Partial<Limits>;
}

interface QuotaPart {
  name: keyof Limits;
  label: Key;
  /** How much one of what is typed is. */
  unit: number;
  step: string;
  most: number;
  text: (n: number) => string;
}

const dollars = (micros: number) =>
  number(micros / 1e6, { style: "currency", currency: "USD", maximumFractionDigits: 6 });

export const quotaParts: readonly QuotaPart[] = [
  {
    name: "bytes",
    label: "operator.quotaBytes",
    unit: 2 ** 20,
    step: "any",
    most: 2 ** 33,
    text: bytes,
  },
  {
    name: "messages",
    label: "operator.quotaMessages",
    unit: 1,
    step: "1",
    most: 1e9,
    text: (n) => number(n),
  },
  {
    name: "costMicros",
    label: "operator.quotaCost",
    unit: 1e6,
    step: "0.000001",
    most: 1e6,
    text: dollars,
  },
];

/** A limit as it is typed; nothing is what everybody may have. */
export function limitIn({ unit }: QuotaPart, own: number | undefined): string {
  return own === undefined ? "" : String(own / unit);
}

/** What was typed, as the server takes it. */
export function limitsIn(typed: readonly string[]): Partial<Limits> {
  const own: Partial<Limits> = {};
  quotaParts.forEach(({ name, unit }, i) => {
    const text = typed[i]?.trim();
    if (text) own[name] = Math.round(Number(text) * unit);
  });
  return own;
}

export function limitText({ text }: QuotaPart, n: number): string {
  return n === 0 ? say("operator.quotaNone") : text(n);
}

export const peoplePath = "/operator/people";

export function personPath({ did }: Person): string {
  return `${peoplePath}/${encodeURIComponent(did)}`;
}

/** How much of the end of a DID is typed before somebody is erased. */
export const confirmLength = 6;

/** How the archive of a person is called. */
export function exportName({ did }: Person): string {
  return `castalia-${did.slice(-confirmLength)}.tar.gz`;
}

/** What POST /operator/people/{did}/erase says. */
export interface ErasedPerson {
  /** How much was erased of what. */
  erased: Record<string, number>;
  /** Archived conversations that the archive had lost before. */
  lost?: string[];
  /** How many were erased without a look whether the archive still had them. */
  unseen?: number;
  /** What they had authorized at other services and could not be revoked there. */
  unrevoked?: string[];
  done: boolean;
  stays: string[];
}

/** A receipt of several requests: what was erased and found so far, and what the next one says. */
export function receiptOf(before: ErasedPerson | undefined, next: ErasedPerson): ErasedPerson {
  const erased = { ...before?.erased };
  for (const [name, n] of Object.entries(next.erased)) erased[name] = (erased[name] ?? 0) + n;
  return {
    ...next,
    erased,
    lost: [...(before?.lost ?? []), ...(next.lost ?? [])],
    unseen: (before?.unseen ?? 0) + (next.unseen ?? 0),
    unrevoked: [...(before?.unrevoked ?? []), ...(next.unrevoked ?? [])],
  };
}

/** What a receipt says of conversations that the archive had lost, or may have. */
export function lossesOf({ lost = [], unseen = 0 }: ErasedPerson): string[] {
  return [
    ...(lost.length > 0 ? [say("operator.eraseLost", { count: lost.length })] : []),
    ...(unseen > 0 ? [say("operator.eraseUnseen", { count: unseen })] : []),
  ];
}

export const membersPath = "/operator/members";
export const operatorsPath = "/operator/operators";
export const invitationsPath = "/operator/invitations";

/** How many members are read at a time. */
const page = 50;

function pageOf(path: string, search: string, after: string): string {
  const asked = new URLSearchParams({ limit: String(page) });
  if (search) asked.set("search", search);
  if (after) asked.set("after", after);
  return `${path}?${asked}`;
}

export function membersAfter(search: string, after: string): string {
  return pageOf(membersPath, search, after);
}

export function peopleAfter(search: string, after: string): string {
  return pageOf(peoplePath, search, after);
}

export function nameOf({ did, note }: Person): string {
  return note || short(did, 16, 6);
}

/** How somebody stands here, in words. */
export function standingOf({ member, role, added, blocked }: Person): string {
  return list([
    role ? roleName(role) : say(member ? "operator.personMember" : "operator.personNoMember"),
    ...(added ? [say("operator.personCame", { when: ago(added) })] : []),
    ...(blocked ? [blockOf(blocked)] : []),
  ]);
}

function blockOf({ at, note: why }: NonNullable<Person["blocked"]>): string {
  const when = ago(at);
  return why
    ? say("operator.personBlockedFor", { when, why })
    : say("operator.personBlockedSince", { when });
}

/** A role, in a word. */
export function roleName(role: string): string {
  return say("operator.roleName", { role });
}

const doors: Record<Access["access"], Key> = {
  open: "operator.personDoorOpen",
  invite: "operator.personDoorInvite",
  closed: "operator.personDoorClosed",
};

/** The door in words, as far as this page can say. */
export function doorOf({ access, named }: Access): string {
  const door = say(doors[access]);
  if (named === 0) return door;
  return `${door} ${say("operator.personDoorNamed", { setting: namedSetting, count: named })}`;
}

/** What a person asked of models, in words. */
export function usageOf({ total }: Usage): string {
  if (total.calls === 0) return say("operator.personNoUsage");
  const digits = { minimumFractionDigits: 4, maximumFractionDigits: 4 };
  const cost = number(total.costMicros / 1e6, digits);
  const parts = [
    say("operator.personRequests", { count: total.calls }),
    ...(total.failed > 0 ? [say("operator.personRequestsFailed", { count: total.failed })] : []),
    say("operator.personTokensRead", { count: total.inputTokens }),
    say("operator.personTokensWritten", { count: total.outputTokens }),
    ...(total.costMicros > 0 ? [say("operator.personCost", { cost })] : []),
  ];
  return say("operator.personUsed", { parts: list(parts) });
}

/** Why an invitation does not count any more, as the server says it. */
const ends: Record<string, Key> = {
  "was withdrawn": "operator.invitationWithdrawn",
  "has expired": "operator.invitationExpired",
  "has been used up": "operator.invitationUsedUp",
};

/** How far an invitation is used, and why it does not count any more. */
export function usesOf({ uses, maxUses: max, over }: Invitation): string {
  if (!over) return say("operator.invitationUses", { uses, max });
  const end = ends[over];
  return end ? say(end, { uses, max }) : say("operator.invitationOver", { uses, max, over });
}
