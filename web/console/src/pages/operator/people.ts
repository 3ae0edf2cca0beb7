import { ago, short } from "../../shell/format";

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
export const roleWords: Record<Role, string> = {
  viewer: "viewer: looks at everything",
  operator: "operator: changes things",
  owner: "owner: also says who the operators are",
};

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

export const peoplePath = "/operator/people";
export const membersPath = "/operator/members";
export const operatorsPath = "/operator/operators";
export const invitationsPath = "/operator/invitations";

/** How many members are read at a time. */
const page = 50;

export function membersAfter(did: string): string {
  const asked = new URLSearchParams({ limit: String(page) });
  if (did) asked.set("after", did);
  return `${membersPath}?${asked}`;
}

export function peopleAfter(search: string, after: string): string {
  const asked = new URLSearchParams({ limit: String(page) });
  if (search) asked.set("search", search);
  if (after) asked.set("after", after);
  return `${peoplePath}?${asked}`;
}

export function nameOf({ did, note }: Person): string {
  return note || short(did, 16, 6);
}

/** How somebody stands here, in words. */
export function standingOf({ member, role, added, blocked }: Person): string {
  const parts = [
    role ?? (member ? "member" : "no member"),
    ...(added ? [`came ${ago(added)}`] : []),
    ...(blocked ? [`blocked ${ago(blocked.at)}${blocked.note ? `: ${blocked.note}` : ""}`] : []),
  ];
  return parts.join(", ");
}

/** The door in words, as far as this page can say. */
export function doorOf({ access, named }: Access): string {
  const byName = named > 0 ? ` ACCESS_DIDS names ${named.toLocaleString("en")} more.` : "";
  switch (access) {
    case "open":
      return `Everybody who makes a key may come in, but for those whom you block.${byName}`;
    case "invite":
      return `Members may come in, and whoever has an invitation.${byName}`;
    case "closed":
      return `Members alone may come in; invitations are not taken.${byName}`;
  }
}

/** What a person asked of models, in words. */
export function usageOf({ total }: Usage): string {
  if (total.calls === 0) return "No model was asked in the last 30 days.";
  const parts = [
    `${count(total.calls)} ${total.calls === 1 ? "request" : "requests"} to models`,
    ...(total.failed > 0 ? [`${count(total.failed)} failed`] : []),
    `${count(total.inputTokens)} tokens read`,
    `${count(total.outputTokens)} written`,
    ...(total.costMicros > 0 ? [`cost ${(total.costMicros / 1e6).toFixed(4)}`] : []),
  ];
  return `In the last 30 days: ${parts.join(", ")}.`;
}

/** How far an invitation is used, and why it does not count any more. */
export function usesOf({ uses, maxUses, over }: Invitation): string {
  const used = `${count(uses)} of ${count(maxUses)} used`;
  return over ? `${used}; it ${over}` : used;
}

function count(n: number): string {
  return n.toLocaleString("en");
}
