import { useDeferredValue, useEffect, useState } from "react";
import { useSession } from "../../identity/session";
import { messageOf, plural, short } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { unlessGone } from "../../shell/late";
import { saveAs } from "../../shell/save";
import { Skeleton } from "../../shell/Skeleton";
import { ask, askBlob } from "./api";
import { auditQuery, ending, everything, type Act, type Acts, type Wanted } from "./audit";
import { Problem } from "./parts";

interface Page extends Acts {
  /** The query that it answers. */
  query: string;
}

/** What operators changed: who, what, when and how it ended. */
export function AuditView() {
  const session = useSession();
  const [wanted, setWanted] = useState(everything);
  const query = useDeferredValue(auditQuery(wanted));
  const [page, setPage] = useState<Page>();
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  useEffect(
    () =>
      unlessGone(
        ask<Acts>(session, `/operator/audit${query}`),
        (found) => {
          setPage({ ...found, query });
          setError("");
        },
        (cause) => setError(messageOf(cause)),
      ),
    [session, query],
  );
  async function run(work: () => Promise<void>) {
    setBusy(true);
    try {
      await work();
      setError("");
    } catch (cause) {
      setError(messageOf(cause));
    } finally {
      setBusy(false);
    }
  }
  const earlier = () =>
    run(async () => {
      const more = await ask<Acts>(session, `/operator/audit${auditQuery(wanted, page?.next)}`);
      // Whoever chose something else in between does not want these.
      setPage((now) =>
        now?.query === query ? { ...more, query, acts: [...now.acts, ...more.acts] } : now,
      );
    });
  const save = () =>
    run(async () => saveAs(await askBlob(session, `/operator/audit/export${query}`), "audit.csv"));
  const acts = page?.acts ?? [];
  return (
    <div className="stack" aria-busy={isBusy || (!page && !error)}>
      <Problem error={error} />
      <Filter wanted={wanted} acts={acts} onChange={setWanted} />
      {!page && !error && <Skeleton lines={6} label="Reading the audit trail" />}
      {page && (
        <div className="row spread">
          <p className="soft small" role="status">
            {acts.length === 0
              ? "Nothing like that was asked for."
              : `${plural(acts.length, "act")}, the newest first.`}
          </p>
          <button type="button" disabled={isBusy || acts.length === 0} onClick={() => void save()}>
            <Icon name="download" /> Export as CSV
          </button>
        </div>
      )}
      {acts.length > 0 && (
        <ol className="plain card journal" aria-label="Audit trail">
          {acts.map((act) => (
            <ActRow key={act.id} act={act} />
          ))}
        </ol>
      )}
      {page?.next && (
        <p>
          <button type="button" disabled={isBusy} onClick={() => void earlier()}>
            Show earlier ones
          </button>
        </p>
      )}
    </div>
  );
}

const kinds = { all: "Everything", actor: "Of one operator", act: "Of one kind" };

function Filter(props: { wanted: Wanted; acts: Act[]; onChange: (wanted: Wanted) => void }) {
  const { wanted, acts } = props;
  const change = (part: Partial<Wanted>) => props.onChange({ ...wanted, ...part });
  const { by } = wanted;
  const known = by === "all" ? [] : [...new Set(acts.map((act) => act[by]))];
  return (
    <div className="row settings-search">
      <label>
        Which acts
        <select
          data-entry
          value={by}
          onChange={(event) => change({ by: event.target.value as Wanted["by"], text: "" })}
        >
          {Object.entries(kinds).map(([kind, title]) => (
            <option key={kind} value={kind}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {by !== "all" && (
        <label className="grow">
          {by === "actor" ? "Who" : "What"}
          <input
            list="audit-known"
            maxLength={200}
            value={wanted.text}
            placeholder={by === "actor" ? "did:key:… or operator" : "PUT /operator/…"}
            onChange={(event) => change({ text: event.target.value })}
          />
          <datalist id="audit-known">
            {known.map((value) => (
              <option key={value} value={value} />
            ))}
          </datalist>
        </label>
      )}
      <label>
        From
        <input
          type="datetime-local"
          value={wanted.since}
          onChange={(event) => change({ since: event.target.value })}
        />
      </label>
      <label>
        Before
        <input
          type="datetime-local"
          value={wanted.until}
          onChange={(event) => change({ until: event.target.value })}
        />
      </label>
    </div>
  );
}

const moment = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });

function ActRow({ act }: { act: Act }) {
  const isBad = act.status === 0 || act.status >= 400;
  return (
    <li>
      <span className="soft small">
        <time dateTime={act.at}>{moment.format(new Date(act.at))}</time>
        <br />
        <span className={isBad ? "bad" : undefined}>{ending(act.status)}</span>
      </span>
      <div>
        <span className="mono">{act.act}</span>
        <p className="soft small">
          by <span title={act.actor}>{short(act.actor, 20, 6)}</span> ({act.role})
          {act.target && act.act.split(" ")[1] !== act.target && (
            <>
              {" "}
              on <span className="mono">{act.target}</span>
            </>
          )}
        </p>
      </div>
    </li>
  );
}
