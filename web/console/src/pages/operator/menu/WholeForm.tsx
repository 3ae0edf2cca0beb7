import { Icon } from "../../../shell/icons";
import { say, type Key } from "../../../words";
import { Adding } from "./Adding";
import { Declarations } from "./Declarations";
import { Findings, TextFields, type Editing } from "./Fields";
import { languagesOf, listOf, put, treeOf, wordOf } from "./draft";

const labels: [string, Key][] = [
  ["back", "menu.backSays"],
  ["exit", "menu.exitSays"],
  ["next", "menu.moreSays"],
  ["previous", "menu.pageBeforeSays"],
  ["invalid", "menu.afterNoKey"],
];
const roles: [string, Key][] = [
  ["start", "menu.roleStart"],
  ["exit", "menu.roleExit"],
  ["resume", "menu.roleResume"],
  ["login", "menu.roleLogin"],
  ["language", "menu.roleLanguage"],
];

const keyNames: [key: string, usual: string, says: Key][] = [
  ["back", "0", "menu.keyBack"],
  ["exit", "*", "menu.keyExit"],
  ["next", "98", "menu.keyNext"],
  ["previous", "99", "menu.keyPrevious"],
];

/** What is said of the menu as a whole. */
export function WholeForm({ editing }: { editing: Editing }) {
  const { menu, change, issues } = editing;
  const screens = Object.keys(treeOf(menu.screens));
  const keys = treeOf(menu.keys);
  const variables = Object.entries(treeOf(menu.variables));
  const isShared = menu.shared !== undefined;
  return (
    <div className="stack">
      {isShared ? (
        <p className="soft small">{say("menu.sharedPart", { name: wordOf(menu.shared) })}</p>
      ) : (
        <>
          <label>
            {say("menu.nameOfMenu")}
            <input
              dir="auto"
              value={wordOf(menu.name)}
              onChange={(event) => change(["name"], event.target.value)}
            />
          </label>
          <Findings issues={issues} at="name" />
          <Languages editing={editing} />
        </>
      )}
      <div className="grid">
        {roles.map(([role, label]) => (
          <label key={role} className="small">
            {say(label)}
            <select
              value={wordOf(menu[role])}
              onChange={(event) => change([role], event.target.value || undefined)}
            >
              <option value="">{say("menu.none")}</option>
              {wordOf(menu[role]) && !screens.includes(wordOf(menu[role])) && (
                <option dir="auto">{wordOf(menu[role])}</option>
              )}
              {screens.map((id) => (
                <option key={id} dir="auto">
                  {id}
                </option>
              ))}
            </select>
            <Findings issues={issues} at={role} />
          </label>
        ))}
      </div>
      <h3 className="section-label">{say("menu.keysEverywhere")}</h3>
      <div className="row">
        {keyNames.map(([key, usual, name]) => (
          <label key={key} className="small menu-key">
            {say(name)}
            <input
              value={wordOf(keys[key])}
              placeholder={usual}
              maxLength={3}
              onChange={(event) => change(["keys", key], event.target.value || undefined)}
            />
          </label>
        ))}
      </div>
      <Findings issues={issues} at="keys" />
      {labels.map(([name, label]) => (
        <TextFields
          key={name}
          editing={editing}
          label={say(label)}
          path={["labels", name]}
          at={`labels.${name}`}
          value={treeOf(menu.labels)[name]}
        />
      ))}
      <h3 className="section-label">{say("menu.remembers")}</h3>
      <ul className="plain">
        {variables.map(([name, one]) => (
          <li key={name} className="row">
            <code className="grow" dir="auto">
              {name}
            </code>
            <label className="small menu-key">
              {say("menu.atMost")}
              <input
                aria-label={say("menu.mostCharacters", { name })}
                value={wordOf(treeOf(one).max)}
                inputMode="numeric"
                onChange={(event) =>
                  change(["variables", name, "max"], Number(event.target.value.replace(/\D/g, "")))
                }
              />
            </label>
            <button
              type="button"
              className="quiet"
              aria-label={say("menu.forget", { name })}
              onClick={() => change(["variables", name], undefined)}
            >
              <Icon name="close" />
            </button>
            <Findings issues={issues} at={`variables.${name}`} />
          </li>
        ))}
      </ul>
      <Adding
        label={say("menu.rememberElse")}
        taken={variables.map(([name]) => name)}
        onAdd={(name) => change(["variables", name], { max: 40 })}
      />
      <Declarations editing={editing} />
    </div>
  );
}

function Languages({ editing }: { editing: Editing }) {
  const { menu, change } = editing;
  const languages = languagesOf(menu);
  return (
    <div className="stack">
      <h3 className="section-label">{say("menu.languages")}</h3>
      <ul className="plain row">
        {languages.map((language, i) => (
          <li key={language} className="badge">
            <span dir="auto">{language}</span>{" "}
            {languages.length > 1 && (
              <button
                type="button"
                className="quiet"
                aria-label={say("menu.removeLanguage", { language })}
                onClick={() =>
                  editing.replace(
                    without(
                      menu,
                      language,
                      listOf(menu.languages)
                        .filter((_, k) => k !== i)
                        .map(wordOf),
                    ),
                  )
                }
              >
                <Icon name="close" />
              </button>
            )}
          </li>
        ))}
      </ul>
      <Findings issues={editing.issues} at="languages" />
      <Adding
        label={say("menu.addLanguage")}
        taken={languages}
        onAdd={(language) => change(["languages", languages.length], language)}
      />
    </div>
  );
}

/** The menu without the texts of a language. */
function without(menu: Editing["menu"], language: string, left: string[]): Editing["menu"] {
  const strip = (value: Editing["menu"][string]): Editing["menu"][string] => {
    if (Array.isArray(value)) return value.map(strip);
    if (typeof value !== "object") return value;
    const names = Object.keys(value);
    const isText =
      names.includes(language) && names.every((n) => n === language || left.includes(n));
    const kept = Object.entries(value).filter(([name]) => !isText || name !== language);
    return Object.fromEntries(kept.map(([name, one]) => [name, strip(one)]));
  };
  let all = menu;
  for (const part of ["labels", "screens", "actions", "forms"]) {
    const value = menu[part];
    if (value !== undefined) all = put(all, [part], strip(value));
  }
  return put(all, ["languages"], left);
}
