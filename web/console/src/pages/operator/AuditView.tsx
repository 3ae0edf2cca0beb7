import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { messageOf, plural, short } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { saveAs } from "../../shell/save";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { ask, askBlob } from "./api";
import { auditQuery, ending, everything, type Act, type Acts, type Wanted } from "./audit";

/** What operators changed: who, what, when and how it ended. */
export function AuditView() {
  const session = useSession();
  const [wanted, setWanted] = useState(everything);
  const asked = useDeferredValue(wanted);
  const trail = useInfiniteQuery({
    queryKey: ["audit", auditQuery(asked)],
    queryFn: ({ pageParam }) =>
      ask<Acts>(session, `/operator/audit${auditQuery(asked, pageParam)}`),
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
    // Whoever reads far down does not lose the place.
    refetchOnWindowFocus: false,
  });
  const saving = useDoing();
  const save = () =>
    saving.run(async () =>
      saveAs(await askBlob(session, `/operator/audit/export${auditQuery(asked)}`), "audit.csv"),
    );
  const { data } = trail;
  const error = trail.error ? messageOf(trail.error) : saving.error;
  const isBusy = saving.isBusy || trail.isFetchingNextPage;
  const acts = data?.pages.flatMap((page) => page.acts) ?? [];
  return (
    <div className="stack" aria-busy={isBusy || (!data && !error)}>
      <Problem error={error} />
      <Filter wanted={wanted} acts={acts} onChange={setWanted} />
      {!data && !error && <Skeleton lines={6} label="Reading the audit trail" />}
      {data && (
        <div className="row spread">
          <p className="soft small" role="status">
            {acts.length === 0
              ? "Nothing like that was asked for."
              : `${plural(acts.length, "act")}, the newest first.`}
          </p>
          <button type="button" disabled={isBusy || acts.length === 0} onClick={() => save()}>
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
      {trail.hasNextPage && (
        <p>
          <button type="button" disabled={isBusy} onClick={() => void trail.fetchNextPage()}>
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
