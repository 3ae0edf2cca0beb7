import { Icon } from "../../shell/icons";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { Say, say, titleOf } from "../../words";
import { useLook } from "./api";
import { code } from "./parts";
import { PluginSettingsForm } from "./PluginSettingsForm";
import type { PluginSetting } from "./pluginSettings";

interface PluginState {
  name: string;
  title: string;
  summary: string;
  version: string;
  on: boolean;
  why: string;
  settings: PluginSetting[];
}

/** What a plugin is called, in the reader's language where it is one of those that we know. */
function nameOf({ name, title }: PluginState): string {
  return titleOf(`plugin_${name}`) ?? (title || name);
}

/** Why it is on or off; what a plugin itself found out is as it said it. */
function whyOf({ name, why }: PluginState): string {
  const choice = `FEATURES=${name}=true`;
  return say("operator.pluginWhy", {
    why: why === `off unless ${choice}` ? "unasked" : why.replaceAll(" ", "_"),
    choice,
    text: why,
  });
}

/** Which plugins are on, and why, with the settings that they declare. */
export default function PluginsView() {
  const { data, error } = useLook<{ plugins: PluginState[] }>("/operator/plugins", 60_000);
  return (
    <div className="stack" aria-busy={!data && !error}>
      <Problem error={error} />
      {!data && !error && <Skeleton lines={6} label={say("operator.pluginsReading")} />}
      <ul className="plain grid plugins">
        {data?.plugins.map((p) => (
          <li key={p.name} className={p.on ? "card" : "card off"}>
            <div className="row spread">
              <h2>
                <Icon name="plug" /> <span dir="auto">{nameOf(p)}</span>
              </h2>
              <span className={p.on ? "badge good" : "badge"}>
                {say(p.on ? "operator.pluginOn" : "operator.pluginOff")}
              </span>
            </div>
            <p dir="auto">{titleOf(`pluginDoes_${p.name}`) ?? p.summary}</p>
            <p className="soft small">
              <span className="mono">{p.name}</span>{" "}
              {p.version && (
                <>
                  <span dir="auto">{p.version}</span> ·{" "}
                </>
              )}
              <span dir="auto">{whyOf(p)}</span>
            </p>
            {p.settings.length > 0 && (
              <details>
                <summary>
                  {say(
                    p.settings.some((s) => s.restart)
                      ? "operator.pluginStartDue"
                      : "operator.settings",
                  )}
                </summary>
                <PluginSettingsForm plugin={p.name} title={nameOf(p)} settings={p.settings} />
              </details>
            )}
          </li>
        ))}
      </ul>
      <p className="soft small">
        <Say id="operator.pluginsSwitch" tags={{ code }} />
      </p>
    </div>
  );
}
