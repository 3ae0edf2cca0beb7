import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { messageOf, moment, short } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { saveAs } from "../../shell/save";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { Say, say, type Key } from "../../words";
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
      {!data && !error && <Skeleton lines={6} label={say("operator.readingAudit")} />}
      {data && (
        <div className="row spread">
          <p className="soft small" role="status">
            {acts.length === 0
              ? say("operator.noActs")
              : say("operator.acts", { count: acts.length })}
          </p>
          <button type="button" disabled={isBusy || acts.length === 0} onClick={() => save()}>
            <Icon name="download" /> {say("operator.exportCsv")}
          </button>
        </div>
      )}
      {acts.length > 0 && (
        <ol className="plain card journal" aria-label={say("operator.auditTrail")}>
          {acts.map((act) => (
            <ActRow key={act.id} act={act} />
          ))}
        </ol>
      )}
      {trail.hasNextPage && (
        <p>
          <button type="button" disabled={isBusy} onClick={() => void trail.fetchNextPage()}>
            {say("operator.earlierActs")}
          </button>
        </p>
      )}
    </div>
  );
}

const kinds: Record<Wanted["by"], Key> = {
  all: "operator.allActs",
  actor: "operator.actsOfActor",
  act: "operator.actsOfKind",
};
/** As an act is called. */
const actExample = "PUT /operator/…";

function Filter(props: { wanted: Wanted; acts: Act[]; onChange: (wanted: Wanted) => void }) {
  const { wanted, acts } = props;
  const change = (part: Partial<Wanted>) => props.onChange({ ...wanted, ...part });
  const { by } = wanted;
  const known = by === "all" ? [] : [...new Set(acts.map((act) => act[by]))];
  return (
    <div className="row settings-search">
      <label>
        {say("operator.whichActs")}
        <select
          data-entry
          value={by}
          onChange={(event) => change({ by: event.target.value as Wanted["by"], text: "" })}
        >
          {Object.entries(kinds).map(([kind, title]) => (
            <option key={kind} value={kind}>
              {say(title)}
            </option>
          ))}
        </select>
      </label>
      {by !== "all" && (
        <label className="grow">
          {say(by === "actor" ? "operator.who" : "operator.whatAct")}
          <input
            dir="auto"
            list="audit-known"
            maxLength={200}
            value={wanted.text}
            placeholder={by === "actor" ? say("operator.actorExample") : actExample}
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
        {say("operator.from")}
        <input
          type="datetime-local"
          value={wanted.since}
          onChange={(event) => change({ since: event.target.value })}
        />
      </label>
      <label>
        {say("operator.before")}
        <input
          type="datetime-local"
          value={wanted.until}
          onChange={(event) => change({ until: event.target.value })}
        />
      </label>
    </div>
  );
}

function ActRow({ act }: { act: Act }) {
  const isBad = act.status === 0 || act.status >= 400;
  const isOn = act.target && act.act.split(" ")[1] !== act.target;
  const by = {
    actor: (
      <span title={act.actor} dir="auto">
        {short(act.actor, 20, 6)}
      </span>
    ),
    role: <span dir="auto">{act.role}</span>,
  };
  const target = (
    <span className="mono" dir="auto">
      {act.target}
    </span>
  );
  return (
    <li>
      <span className="soft small">
        <time dateTime={act.at}>
          {moment(act.at, { dateStyle: "medium", timeStyle: "medium" })}
        </time>
        <br />
        <span className={isBad ? "bad" : undefined}>{ending(act.status)}</span>
      </span>
      <div>
        <span className="mono" dir="auto">
          {act.act}
        </span>
        <p className="soft small">
          {isOn ? (
            <Say id="operator.actByOn" values={{ ...by, target }} />
          ) : (
            <Say id="operator.actBy" values={by} />
          )}
        </p>
      </div>
    </li>
  );
}
