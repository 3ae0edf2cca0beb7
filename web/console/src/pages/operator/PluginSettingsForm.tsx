import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { Problem } from "../../shell/Problem";
import { say } from "../../words";
import { ask } from "./api";
import { changesOf, shownValue, type PluginSetting } from "./pluginSettings";

interface Props {
  plugin: string;
  title: string;
  settings: PluginSetting[];
}

/** Where a value comes from, and when a change counts. */
function standing(setting: PluginSetting): string {
  if (setting.readOnly) {
    return setting.source === "default" || setting.source === "database"
      ? say("operator.pluginSettingOfMachine")
      : say("operator.pluginSettingHeld", { source: setting.source });
  }
  if (setting.restart) return say("operator.pluginSettingStored");
  if (setting.source === "database") return say("operator.pluginSettingByOperators");
  return setting.default
    ? say("operator.pluginSettingDefault", { value: setting.default })
    : say("operator.pluginSettingNone");
}

interface FieldProps {
  setting: PluginSetting;
  value: string;
  disabled: boolean;
  onChange: (text: string) => void;
}

/** The field that a declaration asks for. */
function Field({ setting, value, disabled, onChange }: FieldProps) {
  const choices = setting.kind === "boolean" ? ["true", "false"] : setting.choices;
  if (choices) {
    return (
      <select value={value} disabled={disabled} onChange={(event) => onChange(event.target.value)}>
        {!choices.includes(value) && (
          <option value={value} dir={value ? "auto" : undefined}>
            {value || say("operator.pluginSettingNotSet")}
          </option>
        )}
        {choices.map((choice) => (
          <option key={choice} dir="auto">
            {choice}
          </option>
        ))}
      </select>
    );
  }
  const isKept = setting.secret && (setting.given || setting.stored);
  return (
    <input
      type={setting.secret ? "password" : "text"}
      inputMode={setting.kind === "number" ? "numeric" : "text"}
      autoComplete="off"
      spellCheck={false}
      dir={isKept ? undefined : "auto"}
      placeholder={isKept ? say("operator.pluginSecretSet") : setting.allowed}
      value={value}
      disabled={disabled}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

/** The settings of one plugin, as it declares them. */
export function PluginSettingsForm({ plugin, title, settings }: Props) {
  const session = useSession();
  const { run, isBusy, error } = useDoing(["/operator/plugins"]);
  const [typed, setTyped] = useState<Record<string, string>>({});
  const [removed, setRemoved] = useState<readonly string[]>([]);
  const changes = {
    ...changesOf(settings, typed),
    ...Object.fromEntries(removed.map((name) => [name, null])),
  };
  const isChanged = Object.keys(changes).length > 0;
  const isFixed = settings.every((setting) => setting.readOnly);
  function save(event: FormEvent) {
    event.preventDefault();
    run(async () => {
      const path = `/operator/plugins/${encodeURIComponent(plugin)}`;
      await ask(session, path, "PATCH", { values: changes });
      setTyped({});
      setRemoved([]);
    });
  }
  return (
    <form
      className="stack"
      aria-label={say("operator.pluginSettingsOf", { name: title })}
      onSubmit={save}
    >
      <Problem error={error} />
      {settings.map((setting) => (
        <div key={setting.name} className="stack">
          <label>
            <span className="mono small">{setting.name}</span>
            <Field
              setting={setting}
              value={typed[setting.name] ?? shownValue(setting)}
              disabled={setting.readOnly || isBusy}
              onChange={(text) => setTyped({ ...typed, [setting.name]: text })}
            />
            <span className="soft small">
              <span dir="auto">{setting.doc}</span> {standing(setting)}
            </span>
          </label>
          {setting.secret && setting.stored && !setting.readOnly && (
            <label className="small">
              <input
                type="checkbox"
                checked={removed.includes(setting.name)}
                disabled={isBusy}
                onChange={(event) =>
                  setRemoved(
                    event.target.checked
                      ? [...removed, setting.name]
                      : removed.filter((name) => name !== setting.name),
                  )
                }
              />{" "}
              {say("operator.pluginSecretRemove")}
            </label>
          )}
        </div>
      ))}
      {!isFixed && (
        <div className="row">
          <button type="submit" className="primary" disabled={isBusy || !isChanged}>
            {say("operator.pluginSettingsSave")}
          </button>
        </div>
      )}
    </form>
  );
}
