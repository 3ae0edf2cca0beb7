import { bytes, date, duration } from "../../shell/format";

/** What somebody found out about a backup. */
export interface Check {
  at: string;
  by: string;
  /** It was restored for trial by whoever has the key; else its bytes were compared. */
  restored: boolean;
  problem?: string;
}

/** A whole archive at the place of backups. */
export interface Backup {
  name: string;
  made: string;
  size: number;
  objects: number;
  pieces: number;
  keys: number;
  program: string;
  check?: Check;
}

/** Something that was asked for. */
export interface Job {
  id: string;
  kind: "backup" | "check";
  name?: string;
  by: string;
  state: "waiting" | "running" | "done" | "failed";
  ended?: string;
  bytes: number;
  problem?: string;
}

/** What GET /operator/backups says. */
export interface Backups {
  backups: Backup[];
  total: number;
  bytes: number;
  others?: number;
  place?: string;
  recipients: string[];
  every?: string;
  keep?: number;
  source: string;
  readOnly: boolean;
  next?: string;
  jobs: Job[];
  problem?: string;
  replica: { place?: string; lagSeconds: number; problem?: string };
}

export const backupsPath = "/operator/backups";
export const schedulePath = "/operator/documents/backups";

/** How often, as people choose it: the values that the schedule takes. */
export const rhythms: [value: string, words: string][] = [
  ["off", "never by itself"],
  ["1h", "every hour"],
  ["6h", "every 6 hours"],
  ["12h", "every 12 hours"],
  ["1d", "every day"],
  ["7d", "every week"],
];

/** The schedule in force as one of the rhythms; another one stands for itself. */
export function rhythmOf(every: string | undefined): string {
  return every === undefined ? "off" : every.replace(/(?<=\d[hm])0[ms](?:0s)?$/, "");
}

/** The choices, with one that somebody else made elsewhere. */
export function rhythmsWith(every: string): [value: string, words: string][] {
  return rhythms.some(([value]) => value === every) ? rhythms : [...rhythms, [every, every]];
}

/** The document that says so. */
export function scheduleText(every: string, keep: string): string {
  const kept = keep.trim() === "" ? "off" : keep.trim();
  return `every: ${JSON.stringify(every)}\nkeep: ${JSON.stringify(kept)}\n`;
}

/** What is under way, the oldest first. */
export function underWay(jobs: Job[]): Job[] {
  return jobs.filter(({ state }) => state === "waiting" || state === "running").reverse();
}

/** The last backup and the last check that ended, where they failed. */
export function failures(jobs: Job[]): Job[] {
  const last = (kind: Job["kind"]) => jobs.find((job) => job.kind === kind && job.ended);
  return [last("backup"), last("check")].filter((job) => job?.state === "failed") as Job[];
}

/** How far something is, in words. A backup is about as large as the last one. */
export function progressOf({ kind, state, bytes: done, name }: Job, known: Backup[]): string {
  if (state === "waiting") return kind === "backup" ? "A backup waits." : "A check waits.";
  const what = kind === "backup" ? "A backup is made" : "A backup is checked";
  const like = kind === "check" ? known.find((one) => one.name === name) : known[0];
  const of = like ? ` of about ${bytes(like.size)}` : "";
  return `${what}: ${bytes(done)}${of}.`;
}

/** What a check found out, in a word. */
export function badgeOf({ problem, restored }: Check): string {
  if (problem) return "damaged";
  return restored ? "tried" : "whole";
}

/** What is known of a backup, in words. */
export function checkOf(check: Check | undefined): string {
  if (!check) return "not checked";
  if (check.problem) return `damaged: ${check.problem}`;
  return check.restored
    ? `restored for trial on ${date(check.at)}`
    : `all bytes were there on ${date(check.at)}`;
}

/** What a backup holds, in words. */
export function holdsOf({ size, objects, keys }: Backup): string {
  return [
    bytes(size),
    `${objects.toLocaleString("en")} ${objects === 1 ? "object" : "objects"} and all tables`,
    keys > 0 ? "with keys" : "without keys",
  ].join(", ");
}

/** What the replica does, in words. */
export function replicaOf({ place, lagSeconds, problem }: Backups["replica"]): string {
  if (!place) return "There is none. REPLICA_URL copies every change to another place.";
  const behind = lagSeconds <= 10 ? "up to date" : `${duration(lagSeconds)} behind the database`;
  return `At ${place}, ${behind}.${problem ? ` ${problem}` : ""}`;
}
