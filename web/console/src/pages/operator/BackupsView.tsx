import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { ago, bytes } from "../../shell/format";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { ask, useLook } from "./api";
import {
  backupsPath,
  badgeOf,
  checkOf,
  failures,
  holdsOf,
  progressOf,
  replicaOf,
  rhythmOf,
  rhythmsWith,
  schedulePath,
  scheduleText,
  underWay,
  type Backup,
  type Backups,
} from "./backups";
import type { Role } from "./people";

/** Backups: what there is, one now, how often, and whether they can be restored. */
export function BackupsView() {
  const me = useLook<{ role: Role }>("/operator/me", 60_000);
  const { data, error } = useLook<Backups>(backupsPath, 4000);
  const failed = me.error || error;
  if (!me.data || !data) {
    return (
      <div className="stack" aria-busy={!failed}>
        {failed ? <Problem error={failed} /> : <Skeleton lines={6} label="Looking for backups" />}
      </div>
    );
  }
  const mayChange = me.data.role !== "viewer";
  return (
    <div className="stack">
      <Problem error={failed} />
      <NowCard backups={data} mayChange={mayChange} />
      <ListCard backups={data} mayChange={mayChange} />
      <div className="grid">
        <ScheduleCard backups={data} mayChange={mayChange} />
        <section className="card" aria-label="Replica">
          <h2>Replica</h2>
          <p className="soft small">{replicaOf(data.replica)}</p>
          <p className="soft small">
            A replica is what you restore when a machine is gone; backups are for what was deleted
            or spoilt before anybody saw it.
          </p>
        </section>
      </div>
    </div>
  );
}

function NowCard({ backups, mayChange }: { backups: Backups; mayChange: boolean }) {
  const session = useSession();
  const { run, isBusy, error } = useDoing([backupsPath]);
  const jobs = underWay(backups.jobs);
  return (
    <section className="card stack" aria-label="Backups">
      <div className="row spread">
        <h2>Backups</h2>
        {mayChange && backups.place && (
          <button
            type="button"
            className="primary"
            disabled={isBusy || jobs.some(({ kind }) => kind === "backup")}
            onClick={() => run(() => ask(session, backupsPath, "POST"))}
          >
            Make one now
          </button>
        )}
      </div>
      <Problem error={error || backups.problem || ""} />
      {failures(backups.jobs).map((job) => (
        <p key={job.id} className="bad">
          The last {job.kind} failed
          {job.ended ? ` ${ago(job.ended)}` : ""}: {job.problem}
        </p>
      ))}
      {backups.place ? (
        <p className="soft small">
          They go to <span className="mono">{backups.place}</span>, encrypted for{" "}
          {backups.recipients.length === 1 ? "one key" : `${backups.recipients.length} keys`}. The
          server cannot open them.
          {backups.next && ` The next one is due ${ago(backups.next)}.`}
        </p>
      ) : (
        <NoPlace />
      )}
      <div role="status">
        {jobs.map((job) => (
          <p key={job.id}>{progressOf(job, backups.backups)}</p>
        ))}
      </div>
    </section>
  );
}

/** What to do where nobody said where backups go. */
function NoPlace() {
  return (
    <>
      <p>
        There is no place for backups yet. Whoever runs the machine names one, and a key that opens
        them:
      </p>
      <ol className="small">
        <li>
          On another computer, <code>castalia backups key</code> makes <code>backup.key</code> and
          prints its recipient, <code>age1…</code>. Keep the file: without it no backup can be
          opened.
        </li>
        <li>
          Set <code>BACKUP_URL</code> to a folder on another disk (<code>file:///…</code>) or a
          bucket (<code>s3://…</code>), and <code>BACKUP_RECIPIENTS</code> to that recipient.
        </li>
        <li>Start the server again. It makes a backup every day.</li>
      </ol>
    </>
  );
}

function ListCard({ backups, mayChange }: { backups: Backups; mayChange: boolean }) {
  const session = useSession();
  const { run, isBusy, error } = useDoing([backupsPath]);
  const kept = useKeptFocus<HTMLElement>();
  if (!backups.place) return null;
  const list = backups.backups;
  const isChecked = (name: string) => underWay(backups.jobs).some((job) => job.name === name);
  const check = ({ name }: Backup) =>
    run(() => ask(session, `${backupsPath}/${encodeURIComponent(name)}/check`, "POST"));
  return (
    <section {...kept} className="card stack" aria-label="What is stored">
      <h2>
        What is stored{" "}
        <span className="soft small">
          {backups.total.toLocaleString("en")}, {bytes(backups.bytes)}
        </span>
      </h2>
      <Problem error={error} />
      {list.length === 0 && !backups.problem && <p className="soft">There is no backup yet.</p>}
      {list.length > 0 && (
        <>
          <ul className="plain locks people">
            {list.map((one) => (
              <li key={one.name} className="row spread">
                <span className="grow">
                  <strong>
                    <time dateTime={one.made} title={new Date(one.made).toLocaleString("en")}>
                      {ago(one.made)}
                    </time>
                  </strong>{" "}
                  {one.check && (
                    <span className={one.check.problem ? "badge bad" : "badge good"}>
                      {badgeOf(one.check)}
                    </span>
                  )}
                  <span className="soft small block">{holdsOf(one)}</span>
                  <span className="soft small block">{checkOf(one.check)}</span>
                  <span className="soft small block mono">{one.name}</span>
                </span>
                {mayChange && (
                  <button
                    type="button"
                    disabled={isBusy || isChecked(one.name)}
                    aria-label={`Check the backup ${one.name}`}
                    onClick={() => check(one)}
                  >
                    Check
                  </button>
                )}
              </li>
            ))}
          </ul>
          <p className="soft small">
            Check reads a backup to its end. Whether your key opens it, only a trial restore shows:{" "}
            <code>castalia backups check NAME --identity backup.key</code>, where the key is.
          </p>
        </>
      )}
    </section>
  );
}

function ScheduleCard({ backups, mayChange }: { backups: Backups; mayChange: boolean }) {
  const session = useSession();
  const { run, isBusy, error } = useDoing([backupsPath]);
  const inForce = { every: rhythmOf(backups.every), keep: backups.keep ? `${backups.keep}` : "" };
  const [typed, setTyped] = useState<{ every?: string; keep?: string }>({});
  const { every, keep } = { ...inForce, ...typed };
  const isChanged = every !== inForce.every || keep.trim() !== inForce.keep;
  const isFixed = backups.readOnly || !mayChange;
  function save(event: FormEvent) {
    event.preventDefault();
    run(async () => {
      const { newest } = await ask<{ newest: number }>(session, schedulePath);
      const body = { text: scheduleText(every, keep), note: "from the console" };
      await ask(session, schedulePath, "PUT", body, { "If-Match": `"${newest}"` });
      setTyped({});
    });
  }
  return (
    <form className="card stack" aria-label="Schedule" onSubmit={save}>
      <h2>Schedule</h2>
      <Problem error={error} />
      <label>
        A backup is made
        <select
          value={every}
          disabled={isFixed || isBusy}
          onChange={(event) => setTyped({ ...typed, every: event.target.value })}
        >
          {rhythmsWith(inForce.every).map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <label>
        How many of the newest stay
        <input
          inputMode="numeric"
          autoComplete="off"
          placeholder="all"
          value={keep}
          disabled={isFixed || isBusy}
          onChange={(event) => setTyped({ ...typed, keep: event.target.value })}
        />
      </label>
      <p className="soft small">
        {backups.readOnly
          ? "The server's settings hold the schedule: a change needs a restart."
          : "Older ones are deleted when a newer one is whole."}
      </p>
      {!isFixed && (
        <p>
          <button type="submit" disabled={isBusy || !isChanged}>
            Save the schedule
          </button>
        </p>
      )}
    </form>
  );
}
