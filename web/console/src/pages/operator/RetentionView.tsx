import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { bytes, number } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { say, titleOf } from "../../words";
import { ask, useLook } from "./api";
import { archivedWords, dueWords, growth, largest, rulesOf, rulesText } from "./retention";
import type { Kept, Retention, Rules, Table } from "./retention";

const path = "/operator/retention";
const documentPath = "/operator/documents/retention";
const exportSetting = "RETENTION_EXPORT_URL";

/** How long records are kept, what would go, and what tables hold. */
export default function RetentionView() {
  const { data, error } = useLook<Retention>(path, 60_000);
  return (
    <div className="stack" aria-busy={!data && !error}>
      <Problem error={error} />
      {!data && !error && <Skeleton lines={6} label={say("operator.lookingAtKept")} />}
      {data && <RulesCard retention={data} />}
      {data && <TablesCard tables={largest(data.tables)} />}
    </div>
  );
}

function RulesCard({ retention }: { retention: Retention }) {
  const { classes, readOnly, exported, archived } = retention;
  const archive = archivedWords(archived);
  const session = useSession();
  const { run, isBusy, error } = useDoing([path]);
  const inForce = rulesOf(classes);
  const [typed, setTyped] = useState<Rules>({});
  // What rules would erase, and on which version of them that was looked at.
  const [looked, setLooked] = useState<{ text: string; classes: Kept[]; newest: number }>();
  const tried = looked?.classes;
  const rules = { ...inForce, ...typed };
  const isChanged = rulesText(rules) !== rulesText(inForce);
  function change(name: string, keep: string) {
    setTyped({ ...typed, [name]: keep });
    setLooked(undefined);
  }
  // What a rule erases cannot be had back: it is counted before it can be saved.
  function look(event: FormEvent) {
    event.preventDefault();
    run(async () => {
      const text = rulesText(rules);
      const query = `?rules=${encodeURIComponent(text)}`;
      const { newest } = await ask<{ newest: number }>(session, documentPath);
      const { classes: due } = await ask<Retention>(session, path + query);
      setLooked({ text, classes: due, newest });
    });
  }
  function save() {
    run(async () => {
      if (!looked) return;
      const body = { text: looked.text, note: "from the console" };
      // If somebody else changed the rules since, it is refused, and to be looked at again.
      const match = { "If-Match": `"${looked.newest}"` };
      setLooked(undefined);
      await ask(session, documentPath, "PUT", body, match);
      setTyped({});
    });
  }
  return (
    <form className="card stack" aria-label={say("operator.howLong")} onSubmit={look}>
      <h2>{say("operator.howLong")}</h2>
      <p className="soft small">
        {say("operator.howLongHint")}{" "}
        {say(readOnly ? "operator.rulesHeld" : "operator.rulesAtOnce")}{" "}
        {exported
          ? say("operator.exported")
          : say("operator.notExported", { setting: exportSetting })}
      </p>
      <Problem error={error} />
      <div className="retention">
        {(tried ?? classes).map((one) => (
          <label key={one.name}>
            <span className="name" dir="auto">
              {titleOf(`kept_${one.name}`) ?? one.name}
            </span>
            <input
              autoComplete="off"
              placeholder={say("operator.forEver")}
              disabled={readOnly || isBusy}
              value={rules[one.name] ?? ""}
              onChange={(event) => change(one.name, event.target.value)}
            />
            <span className="soft small">
              <span dir="auto">{titleOf(`keptDoc_${one.name}`) ?? one.doc}</span>
              {one.keep !== undefined && <strong> {dueWords(one.due)}</strong>}
            </span>
          </label>
        ))}
      </div>
      {archive !== "" && <p className="soft small">{archive}</p>}
      {!readOnly && (
        <div className="row">
          <button type="submit" disabled={isBusy || !isChanged}>
            {say("operator.seeWhatGoes")}
          </button>
          <button
            type="button"
            className="primary"
            disabled={isBusy || !isChanged || !tried}
            onClick={save}
          >
            {say("operator.saveRules")}
          </button>
        </div>
      )}
    </form>
  );
}

function TablesCard({ tables }: { tables: Table[] }) {
  return (
    <section className="card" aria-label={say("operator.tablesHold")}>
      <h2>{say("operator.tablesHold")}</h2>
      {tables.length === 0 ? (
        <p className="soft small">{say("operator.notMeasured")}</p>
      ) : (
        <div className="tables-held">
          <table>
            <thead>
              <tr>
                <th>{say("operator.table")}</th>
                <th className="number">{say("operator.rows")}</th>
                <th className="number">{say("operator.rowsADay")}</th>
                <th className="number wide-only">{say("operator.size")}</th>
                <th className="wide-only">{say("operator.measured")}</th>
              </tr>
            </thead>
            <tbody>
              {tables.map((one) => (
                <tr key={one.name}>
                  <td className="mono">
                    <span dir="auto">{one.name}</span>
                  </td>
                  <td className="number">{number(one.rows)}</td>
                  <td className="number">{growth(one.rowsADay)}</td>
                  <td className="number wide-only">
                    {one.bytes === undefined ? "–" : bytes(one.bytes)}
                  </td>
                  <td className="wide-only">{one.day}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
