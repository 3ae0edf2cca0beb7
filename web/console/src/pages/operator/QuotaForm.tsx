import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useAsked, useDoing } from "../../shell/asked";
import { Problem } from "../../shell/Problem";
import { say } from "../../words";
import { ask } from "./api";
import {
  limitIn,
  limitsIn,
  limitText,
  personPath,
  quotaParts,
  type Person,
  type Quota,
} from "./people";

/** What one person may have and has used, and how an operator lets them have something else. */
export function QuotaForm({ person, mayChange }: { person: Person; mayChange: boolean }) {
  const session = useSession();
  const path = `${personPath(person)}/quota`;
  const { data, error } = useAsked({
    queryKey: [path],
    queryFn: () => ask<Quota>(session, path),
  });
  const doing = useDoing([path]);
  return (
    <div role="group" aria-label={say("operator.quotaOf")} className="stack">
      <Problem error={doing.error || error} />
      {!data && !error && <p className="soft small">{say("operator.personCounting")}</p>}
      {data && (
        <Fields
          key={JSON.stringify(data.own)}
          quota={data}
          mayChange={mayChange}
          isBusy={doing.isBusy}
          onSave={(own) => doing.run(() => ask(session, path, "PUT", own))}
          onReset={() => doing.run(() => ask(session, path, "DELETE"))}
        />
      )}
    </div>
  );
}

function Fields(props: {
  quota: Quota;
  mayChange: boolean;
  isBusy: boolean;
  onSave: (own: object) => void;
  onReset: () => void;
}) {
  const { quota, mayChange, isBusy } = props;
  const [typed, setTyped] = useState(() =>
    quotaParts.map((part) => limitIn(part, quota.own?.[part.name])),
  );
  function save(event: FormEvent) {
    event.preventDefault();
    props.onSave(limitsIn(typed));
  }
  return (
    <form className="stack" onSubmit={save}>
      <div className="row settings-search">
        {quotaParts.map((part, i) => (
          <label key={part.name}>
            {say(part.label)}
            {mayChange && (
              <input
                type="number"
                min={0}
                max={part.most}
                step={part.step}
                placeholder={say("operator.quotaAsAll")}
                value={typed[i]}
                onChange={(event) => setTyped(typed.with(i, event.target.value))}
              />
            )}
            <span className="soft small block">
              {say("operator.quotaUsed", {
                used: part.text(quota.used[part.name]),
                limit: limitText(part, quota.limit[part.name]),
              })}
            </span>
          </label>
        ))}
      </div>
      {mayChange && (
        <>
          <p className="soft small">{say("operator.quotaHint")}</p>
          <p className="row">
            <button type="submit" disabled={isBusy}>
              {say("operator.quotaSave")}
            </button>
            {quota.own && (
              <button type="button" className="quiet" disabled={isBusy} onClick={props.onReset}>
                {say("operator.quotaReset")}
              </button>
            )}
          </p>
        </>
      )}
    </form>
  );
}
