import { Icon } from "../../shell/icons";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { useLook } from "./api";
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

/** Which plugins are on, and why, with the settings that they declare. */
export function PluginsView() {
  const { data, error } = useLook<{ plugins: PluginState[] }>("/operator/plugins", 60_000);
  return (
    <div className="stack" aria-busy={!data && !error}>
      <Problem error={error} />
      {!data && !error && <Skeleton lines={6} label="Reading the plugins" />}
      <ul className="plain grid plugins">
        {data?.plugins.map((p) => (
          <li key={p.name} className={p.on ? "card" : "card off"}>
            <div className="row spread">
              <h2>
                <Icon name="plug" /> {p.title || p.name}
              </h2>
              <span className={p.on ? "badge good" : "badge"}>{p.on ? "on" : "off"}</span>
            </div>
            <p>{p.summary}</p>
            <p className="soft small">
              <span className="mono">{p.name}</span> {p.version && `${p.version} · `}
              {p.why}
            </p>
            {p.settings.length > 0 && (
              <details>
                <summary>
                  Settings{p.settings.some((s) => s.restart) && " · a start is due"}
                </summary>
                <PluginSettingsForm
                  plugin={p.name}
                  title={p.title || p.name}
                  settings={p.settings}
                />
              </details>
            )}
          </li>
        ))}
      </ul>
      <p className="soft small">
        Switch plugins with <code>FEATURES</code>, for example <code>FEATURES=credits=true</code>,
        and start the server again.
      </p>
    </div>
  );
}
