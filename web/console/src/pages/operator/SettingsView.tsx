import { useState } from "react";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { say, titleOf } from "../../words";
import { useLook } from "./api";
import { documentSourceOf, grouped, sourceOf, type Setting, type Settings } from "./settings";

/** What is set on this node, from where, and what each setting is for. */
export default function SettingsView() {
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
          {say("operator.findSetting")}
          <input
            type="search"
            data-entry
            value={words}
            placeholder={say("operator.findSettingExample")}
            onChange={(event) => setWords(event.target.value)}
          />
        </label>
        <label className="choice">
          <input
            type="checkbox"
            checked={isSetOnly}
            onChange={(event) => setSetOnly(event.target.checked)}
          />
          {say("operator.onlySet")}
        </label>
      </div>
      {!data && !error && <Skeleton lines={6} label={say("operator.readingSettings")} />}
      {data && (
        <p className="soft small" role="status">
          {count === 0
            ? say(isSetOnly ? "operator.noneSet" : "operator.noSetting")
            : say("operator.settingCount", { count, total: data.settings.length })}
        </p>
      )}
      {parts.map(([part, some], i) => (
        <section key={part} className="card" aria-labelledby={`settings-${i}`}>
          <h2 id={`settings-${i}`} dir="auto">
            {say("operator.settingsPart", { part, name: part })}
          </h2>
          <dl className="settings">
            {some.map((one) => (
              <One key={one.name} setting={one} />
            ))}
          </dl>
        </section>
      ))}
      {data && data.documents.length > 0 && (
        <section className="card">
          <h2>{say("operator.documents")}</h2>
          <p className="soft small">{say("operator.documentsHint")}</p>
          <dl className="settings">
            {data.documents.map((one) => (
              <div key={one.name}>
                <dt>
                  <Titled name={one.name} title={titleOf(`document_${one.name}`)} />
                </dt>
                <dd>
                  <span>{documentSourceOf(one)}</span>
                  {one.where && (
                    <span className="mono" dir="auto">
                      {" "}
                      {one.where}
                    </span>
                  )}
                  <p className="soft small">
                    {say(one.restart ? "operator.documentHeld" : "operator.documentAtOnce")}
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

/** What something is for, and below it how the server calls it. */
function Titled({ name, title }: { name: string; title: string | undefined }) {
  return (
    <>
      {title && <span className="block">{title}</span>}
      <span className={title ? "mono small soft" : "mono"} dir="ltr">
        {name}
      </span>
    </>
  );
}

function One({ setting }: { setting: Setting }) {
  const isSet = setting.source !== "default";
  return (
    <div>
      <dt>
        <Titled name={setting.name} title={titleOf(setting.name)} />
      </dt>
      <dd>
        <span className="mono" dir="auto">
          {setting.value === "" ? say("operator.empty") : setting.value}
        </span>{" "}
        <span className={isSet ? "badge good" : "badge"}>{sourceOf(setting)}</span>
        <p className="soft small" dir="auto" lang="en">
          {setting.doc}
        </p>
        {setting.document && (
          <p className="soft small">
            {say("operator.liveAs", {
              document: titleOf(`document_${setting.document}`) ?? setting.document,
            })}
          </p>
        )}
      </dd>
    </div>
  );
}
