import { useState, type FormEvent } from "react";
import { Icon } from "../../../shell/icons";
import { Findings, TextFields, type Editing } from "./Fields";
import { languagesOf, listOf, put, treeOf, wordOf } from "./draft";

const labels: [string, string][] = [
  ["back", "The back key says"],
  ["exit", "The exit key says"],
  ["next", "The key for more says"],
  ["previous", "The key for the page before says"],
  ["invalid", "After a key that is none"],
];
const roles: [string, string][] = [
  ["start", "First screen"],
  ["exit", "Screen that ends a call"],
  ["resume", "Screen after a call that was cut off"],
  ["login", "Screen where a login begins"],
  ["language", "Screen that asks for the language"],
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
        <p className="soft small">{`The part “${wordOf(menu.shared)}”, which menus include.`}</p>
      ) : (
        <>
          <label>
            Name of the menu
            <input
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
            {label}
            <select
              value={wordOf(menu[role])}
              onChange={(event) => change([role], event.target.value || undefined)}
            >
              <option value="">none</option>
              {wordOf(menu[role]) && !screens.includes(wordOf(menu[role])) && (
                <option>{wordOf(menu[role])}</option>
              )}
              {screens.map((id) => (
                <option key={id}>{id}</option>
              ))}
            </select>
            <Findings issues={issues} at={role} />
          </label>
        ))}
      </div>
      <h3 className="section-label">Keys that are the same on every screen</h3>
      <div className="row">
        {[
          ["back", "0"],
          ["exit", "*"],
          ["next", "98"],
          ["previous", "99"],
        ].map(([key, usual]) => (
          <label key={key} className="small menu-key">
            {key}
            <input
              value={wordOf(keys[key ?? ""])}
              placeholder={usual ?? ""}
              maxLength={3}
              onChange={(event) => change(["keys", key ?? ""], event.target.value || undefined)}
            />
          </label>
        ))}
      </div>
      <Findings issues={issues} at="keys" />
      {labels.map(([name, label]) => (
        <TextFields
          key={name}
          editing={editing}
          label={label}
          path={["labels", name]}
          at={`labels.${name}`}
          value={treeOf(menu.labels)[name]}
        />
      ))}
      <h3 className="section-label">What the menu remembers of a call</h3>
      <ul className="plain">
        {variables.map(([name, one]) => (
          <li key={name} className="row">
            <code className="grow">{name}</code>
            <label className="small menu-key">
              {`At most`}
              <input
                aria-label={`Most characters of ${name}`}
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
              aria-label={`Forget ${name}`}
              onClick={() => change(["variables", name], undefined)}
            >
              <Icon name="close" />
            </button>
            <Findings issues={issues} at={`variables.${name}`} />
          </li>
        ))}
      </ul>
      <Adding
        label="Remember something else"
        taken={variables.map(([name]) => name)}
        onAdd={(name) => change(["variables", name], { max: 40 })}
      />
    </div>
  );
}

function Languages({ editing }: { editing: Editing }) {
  const { menu, change } = editing;
  const languages = languagesOf(menu);
  return (
    <div className="stack">
      <h3 className="section-label">Languages, the usual one first</h3>
      <ul className="plain row">
        {languages.map((language, i) => (
          <li key={language} className="badge">
            {language}{" "}
            {languages.length > 1 && (
              <button
                type="button"
                className="quiet"
                aria-label={`Remove the language ${language}`}
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
        label="Add a language"
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

/** A name to add. */
export function Adding(props: { label: string; taken: string[]; onAdd: (name: string) => void }) {
  const [name, setName] = useState("");
  const isFree = /^[A-Za-z][A-Za-z0-9_-]{0,39}$/.test(name) && !props.taken.includes(name);
  function add(event: FormEvent) {
    event.preventDefault();
    if (!isFree) return;
    props.onAdd(name);
    setName("");
  }
  return (
    <form className="row menu-adding" onSubmit={add}>
      <label className="small">
        {props.label}
        <input
          value={name}
          placeholder="a short name"
          autoComplete="off"
          onChange={(event) => setName(event.target.value.trim())}
        />
      </label>
      <button type="submit" disabled={!isFree}>
        <Icon name="plus" /> Add
      </button>
    </form>
  );
}
