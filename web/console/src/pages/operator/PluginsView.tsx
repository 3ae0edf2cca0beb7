import { Icon } from "../../shell/icons";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { useLook } from "./api";

interface PluginState {
  name: string;
  title: string;
  summary: string;
  version: string;
  on: boolean;
  why: string;
}

/** Which plugins are on, and why. */
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
