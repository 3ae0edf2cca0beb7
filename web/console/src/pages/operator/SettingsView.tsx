import { useState } from "react";
import { plural } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { useLook } from "./api";
import { grouped, sourceOf, type Setting, type Settings } from "./settings";

/** What is set on this node, from where, and what each setting is for. */
export function SettingsView() {
  const { data, error } = useLook<Settings>("/operator/settings", 60_000);
  const [words, setWords] = useState("");
  const [isSetOnly, setSetOnly] = useState(true);
  const parts = data ? grouped(data.settings, words, isSetOnly) : [];
  const count = parts.reduce((sum, [, some]) => sum + some.length, 0);
  return (
    <div className="stack" aria-busy={!data && !error}>
      <Problem error={error} />
      <div className="row settings-search">
        <label className="grow">
          Find a setting
          <input
            type="search"
            data-entry
            value={words}
            placeholder="quota, model, telephone…"
            onChange={(event) => setWords(event.target.value)}
          />
        </label>
        <label className="choice">
          <input
            type="checkbox"
            checked={isSetOnly}
            onChange={(event) => setSetOnly(event.target.checked)}
          />
          Only what was set
        </label>
      </div>
      {!data && !error && <Skeleton lines={6} label="Reading the settings" />}
      {data && (
        <p className="soft small" role="status">
          {count === 0
            ? isSetOnly
              ? "Nothing that was set is called so. Look at all settings."
              : "There is no such setting."
            : `${plural(count, "setting")} of ${data.settings.length}. A change needs a restart.`}
        </p>
      )}
      {parts.map(([part, some]) => (
        <section key={part} className="card" aria-label={part}>
          <h2>{part}</h2>
          <dl className="settings">
            {some.map((one) => (
              <One key={one.name} setting={one} />
            ))}
          </dl>
        </section>
      ))}
      {data && data.documents.length > 0 && (
        <section className="card">
          <h2>Documents</h2>
          <p className="soft small">
            They change while the server runs, unless a file or the environment holds them.
          </p>
          <dl className="settings">
            {data.documents.map((one) => (
              <div key={one.name}>
                <dt className="mono">{one.name}</dt>
                <dd>
                  {one.source}
                  {one.where && <span className="mono"> {one.where}</span>}
                  <p className="soft small">
                    {one.restart
                      ? "Read-only here: a change needs a restart."
                      : "Changes count at once."}
                  </p>
                </dd>
              </div>
            ))}
          </dl>
        </section>
      )}
    </div>
  );
}

function One({ setting }: { setting: Setting }) {
  const isSet = setting.source !== "default";
  return (
    <div>
      <dt className="mono">{setting.name}</dt>
      <dd>
        <span className="mono">{setting.value === "" ? "empty" : setting.value}</span>{" "}
        <span className={isSet ? "badge good" : "badge"}>{sourceOf(setting)}</span>
        <p className="soft small">{setting.doc}</p>
      </dd>
    </div>
  );
}
