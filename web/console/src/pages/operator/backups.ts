import { bytes, date, duration, list } from "../../shell/format";
import { say, type Key } from "../../words";

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
const rhythms: [value: string, words: Key][] = [
  ["off", "operator.backupNever"],
  ["1h", "operator.backupEveryHour"],
  ["6h", "operator.backupEvery6Hours"],
  ["12h", "operator.backupEvery12Hours"],
  ["1d", "operator.backupEveryDay"],
  ["7d", "operator.backupEveryWeek"],
];

/** The setting that makes a replica. */
const replicaSetting = "REPLICA_URL";

/** The schedule in force as one of the rhythms; another one stands for itself. */
export function rhythmOf(every: string | undefined): string {
  return every === undefined ? "off" : every.replace(/(?<=\d[hm])0[ms](?:0s)?$/, "");
}

/** The choices, with one that somebody else made elsewhere. */
export function rhythmsWith(every: string): [value: string, words: string][] {
  const offered = rhythms.map(([value, key]): [string, string] => [value, say(key)]);
  return rhythms.some(([value]) => value === every) ? offered : [...offered, [every, every]];
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
  if (state === "waiting") return say("operator.backupWaits", { kind });
  const like = kind === "check" ? known.find((one) => one.name === name) : known[0];
  const far = { kind, done: bytes(done) };
  return like
    ? say("operator.backupProgressOf", { ...far, size: bytes(like.size) })
    : say("operator.backupProgress", far);
}

/** What a check found out, in a word. */
export function badgeOf({ problem, restored }: Check): string {
  if (problem) return say("operator.backupDamaged");
  return say(restored ? "operator.backupTried" : "operator.backupWhole");
}

/** What is known of a backup, in words. */
export function checkOf(check: Check | undefined): string {
  if (!check) return say("operator.backupNotChecked");
  if (check.problem) return say("operator.backupDamage", { problem: check.problem });
  return say(check.restored ? "operator.backupRestored" : "operator.backupAllThere", {
    date: date(check.at),
  });
}

/** What a backup holds, in words. */
export function holdsOf({ size, objects, keys }: Backup): string {
  return list([
    bytes(size),
    say("operator.backupObjects", { count: objects }),
    say(keys > 0 ? "operator.backupWithKeys" : "operator.backupWithoutKeys"),
  ]);
}

/** What the replica does, in words. */
export function replicaOf({ place, lagSeconds, problem }: Backups["replica"]): string {
  if (!place) return say("operator.backupNoReplica", { setting: replicaSetting });
  const replica =
    lagSeconds <= 10
      ? say("operator.backupReplicaUpToDate", { place })
      : say("operator.backupReplicaBehind", { place, time: duration(lagSeconds) });
  return problem ? say("operator.backupReplicaProblem", { replica, problem }) : replica;
}
