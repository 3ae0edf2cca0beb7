import { describe, expect, it } from "vitest";
import {
  badgeOf,
  checkOf,
  failures,
  holdsOf,
  progressOf,
  replicaOf,
  rhythmOf,
  rhythmsWith,
  scheduleText,
  underWay,
  type Backup,
  type Job,
} from "./backups";

const job = (more: Partial<Job>): Job => ({
  id: "1",
  kind: "backup",
  by: "o",
  state: "done",
  bytes: 0,
  ...more,
});
const backup: Backup = {
  name: "b",
  made: "2026-11-18T03:00:00Z",
  size: 2048,
  objects: 1,
  pieces: 2,
  keys: 3,
  program: "1",
};

describe("backups", () => {
  it("writes the schedule that was chosen, as one value each", () => {
    expect(scheduleText("1d", " 14 ")).toBe('every: "1d"\nkeep: "14"\n');
    expect(scheduleText("off", "")).toBe('every: "off"\nkeep: "off"\n');
    expect(scheduleText("1d\nkeep: 1", "2")).toBe('every: "1d\\nkeep: 1"\nkeep: "2"\n');
  });

  it("knows the rhythm in force, also one that it does not offer", () => {
    expect([undefined, "1d", "12h0m0s", "90m0s", "1h30m0s"].map(rhythmOf)).toEqual([
      "off",
      "1d",
      "12h",
      "90m",
      "1h30m",
    ]);
    expect(rhythmsWith("1d")).toHaveLength(6);
    expect(rhythmsWith("3d").at(-1)).toEqual(["3d", "3d"]);
  });

  it("tells what is under way and what failed last", () => {
    const jobs = [
      job({ id: "5", state: "waiting", kind: "check" }),
      job({ id: "4", state: "running" }),
      job({ id: "3", state: "failed", ended: "x", kind: "check", problem: "p" }),
      job({ id: "2", state: "done", ended: "x" }),
      job({ id: "1", state: "failed", ended: "x" }),
    ];
    expect(underWay(jobs).map(({ id }) => id)).toEqual(["4", "5"]);
    expect(failures(jobs).map(({ id }) => id)).toEqual(["3"]);
  });

  it("says how far a backup is", () => {
    const running = job({ state: "running", bytes: 1024 });
    expect(progressOf(running, [])).toBe("A backup is made: 1.0 KiB.");
    expect(progressOf(running, [backup])).toBe("A backup is made: 1.0 KiB of about 2.0 KiB.");
    expect(progressOf(job({ state: "waiting", kind: "check" }), [])).toBe("A check waits.");
  });

  it("says what is known of one", () => {
    const at = "2026-11-18T03:00:00Z";
    expect(checkOf(undefined)).toBe("not checked");
    expect(checkOf({ at, by: "o", restored: true })).toBe("restored for trial on Nov 18, 2026");
    expect(checkOf({ at, by: "o", restored: false, problem: "cut" })).toBe("damaged: cut");
    expect(badgeOf({ at, by: "o", restored: false })).toBe("whole");
    expect(badgeOf({ at, by: "o", restored: true, problem: "cut" })).toBe("damaged");
    expect(holdsOf(backup)).toBe("2.0 KiB, 1 object and all tables, with keys");
  });

  it("says what the replica does", () => {
    expect(replicaOf({ lagSeconds: 0 })).toContain("There is none");
    expect(replicaOf({ place: "s3://b", lagSeconds: 1 })).toBe("At s3://b, up to date.");
    expect(replicaOf({ place: "s3://b", lagSeconds: 60, problem: "away" })).toBe(
      "At s3://b, 60 s behind the database. away",
    );
  });
});
