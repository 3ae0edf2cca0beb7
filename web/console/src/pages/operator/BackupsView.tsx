import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { ago, bytes, list, moment, number } from "../../shell/format";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { Say, say } from "../../words";
import { ask, useLook, useMe } from "./api";
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
import { code } from "./parts";

/** Backups: what there is, one now, how often, and whether they can be restored. */
export function BackupsView() {
  const me = useMe();
  const { data, error } = useLook<Backups>(backupsPath, 4000);
  const failed = me.error || error;
  if (!me.data || !data) {
    return (
      <div className="stack" aria-busy={!failed}>
        {failed ? (
          <Problem error={failed} />
        ) : (
          <Skeleton lines={6} label={say("operator.backupsLooking")} />
        )}
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
        <section className="card" aria-label={say("operator.backupReplica")}>
          <h2>{say("operator.backupReplica")}</h2>
          <p className="soft small">{replicaOf(data.replica)}</p>
          <p className="soft small">{say("operator.backupReplicaHint")}</p>
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
    <section className="card stack" aria-label={say("operator.backups")}>
      <div className="row spread">
        <h2>{say("operator.backups")}</h2>
        {mayChange && backups.place && (
          <button
            type="button"
            className="primary"
            disabled={isBusy || jobs.some(({ kind }) => kind === "backup")}
            onClick={() => run(() => ask(session, backupsPath, "POST"))}
          >
            {say("operator.backupMake")}
          </button>
        )}
      </div>
      <Problem error={error || backups.problem || ""} />
      {failures(backups.jobs).map((job) => (
        <p key={job.id} className="bad">
          <Say
            id="operator.backupFailed"
            values={{
              kind: job.kind,
              when: ago(job.ended ?? ""),
              problem: <span dir="auto">{job.problem}</span>,
            }}
          />
        </p>
      ))}
      {backups.place ? (
        <p className="soft small">
          <Say
            id="operator.backupPlace"
            values={{
              place: (
                <span className="mono" dir="auto">
                  {backups.place}
                </span>
              ),
              keys: backups.recipients.length,
            }}
          />{" "}
          {backups.next && say("operator.backupNext", { when: ago(backups.next) })}
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
      <p>{say("operator.backupNoPlace")}</p>
      <ol className="small">
        <li>
          <Say id="operator.backupStepKey" tags={{ code }} />
        </li>
        <li>
          <Say id="operator.backupStepPlace" tags={{ code }} />
        </li>
        <li>{say("operator.backupStepStart")}</li>
      </ol>
    </>
  );
}

function ListCard({ backups, mayChange }: { backups: Backups; mayChange: boolean }) {
  const session = useSession();
  const { run, isBusy, error } = useDoing([backupsPath]);
  const kept = useKeptFocus<HTMLElement>();
  if (!backups.place) return null;
  const stored = backups.backups;
  const isChecked = (name: string) => underWay(backups.jobs).some((job) => job.name === name);
  const check = ({ name }: Backup) =>
    run(() => ask(session, `${backupsPath}/${encodeURIComponent(name)}/check`, "POST"));
  return (
    <section {...kept} className="card stack" aria-label={say("operator.backupStored")}>
      <h2>
        {say("operator.backupStored")}{" "}
        <span className="soft small">{list([number(backups.total), bytes(backups.bytes)])}</span>
      </h2>
      <Problem error={error} />
      {stored.length === 0 && !backups.problem && (
        <p className="soft">{say("operator.backupNone")}</p>
      )}
      {stored.length > 0 && (
        <>
          <ul className="plain locks people">
            {stored.map((one) => (
              <li key={one.name} className="row spread">
                <span className="grow">
                  <strong>
                    <time dateTime={one.made} title={moment(one.made)}>
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
                  <span className="soft small block mono" dir="auto">
                    {one.name}
                  </span>
                </span>
                {mayChange && (
                  <button
                    type="button"
                    disabled={isBusy || isChecked(one.name)}
                    aria-label={say("operator.backupCheckOne", { name: one.name })}
                    onClick={() => check(one)}
                  >
                    {say("operator.backupCheck")}
                  </button>
                )}
              </li>
            ))}
          </ul>
          <p className="soft small">
            <Say id="operator.backupCheckHint" tags={{ code }} />
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
    <form className="card stack" aria-label={say("operator.backupSchedule")} onSubmit={save}>
      <h2>{say("operator.backupSchedule")}</h2>
      <Problem error={error} />
      <label>
        {say("operator.backupEvery")}
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
        {say("operator.backupKeep")}
        <input
          inputMode="numeric"
          autoComplete="off"
          placeholder={say("operator.backupKeepAll")}
          value={keep}
          disabled={isFixed || isBusy}
          onChange={(event) => setTyped({ ...typed, keep: event.target.value })}
        />
      </label>
      <p className="soft small">
        {say(backups.readOnly ? "operator.backupScheduleHeld" : "operator.backupOlderGo")}
      </p>
      {!isFixed && (
        <p>
          <button type="submit" disabled={isBusy || !isChanged}>
            {say("operator.backupSaveSchedule")}
          </button>
        </p>
      )}
    </form>
  );
}
