import { useId, useState } from "react";
import { Icon } from "../../../shell/icons";
import { say } from "../../../words";
import type { AirTime } from "../../telephone/septets";
import {
  findingsAt,
  languagesOf,
  nextOf,
  specialTargets,
  targetName,
  targetsOf,
  treeOf,
  wordOf,
  type Issue,
  type Target,
  type Tree,
  type Value,
} from "./draft";

/** What every form needs of the draft. */
export interface Editing {
  menu: Tree;
  issues: Issue[];
  guards: string[];
  kinds: string[];
  runs: Record<string, string[]>;
  /** Changes a field of the menu; undefined takes it away. */
  change: (path: (string | number)[], value: Value | undefined) => void;
  replace: (menu: Tree, selected?: string) => void;
  size: (screen: string, language: string) => AirTime;
  pages: (screen: string, language: string) => number;
}

/** What the check says at a field. */
export function Findings({ issues, at, id }: { issues: Issue[]; at: string; id?: string }) {
  const found = findingsAt(issues, at);
  if (found.length === 0) return null;
  return (
    <div id={id} role="alert">
      <ul className="plain small bad findings">
        {found.map((issue, i) => (
          <li key={i} dir="auto">
            {issue.message}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** A text in every language. */
export function TextFields(props: {
  editing: Editing;
  label: string;
  path: (string | number)[];
  at: string;
  value: Value | undefined;
  rows?: number;
  counted?: string;
}) {
  const { editing, path, at, value, rows } = props;
  const id = useId();
  const languages = languagesOf(editing.menu);
  return (
    <div className="menu-texts">
      {languages.map((language) => {
        const text = wordOf(treeOf(value)[language]);
        const change = (typed: string) => editing.change([...path, language], typed || undefined);
        const field = {
          "aria-label": say("menu.inLanguage", { label: props.label, language }),
          "aria-describedby": id,
          lang: language,
          dir: "auto",
          value: text,
        };
        const air = props.counted === undefined ? undefined : editing.size(props.counted, language);
        const pages = props.counted === undefined ? 1 : editing.pages(props.counted, language);
        return (
          <div key={language} className="menu-text">
            <span className="small soft" aria-hidden="true">
              {say("menu.withLanguage", { label: props.label, language })}
            </span>
            {rows ? (
              <textarea {...field} rows={rows} onChange={(e) => change(e.target.value)} />
            ) : (
              <input {...field} autoComplete="off" onChange={(e) => change(e.target.value)} />
            )}
            {air && (
              <span
                className={`small counted ${air.used > air.limit && pages < 2 ? "bad" : "soft"}`}
              >
                {pages > 1
                  ? say("menu.wholeScreenOnPages", { ...air, pages })
                  : say("menu.wholeScreen", { ...air })}
              </span>
            )}
          </div>
        );
      })}
      <Findings issues={editing.issues} at={at} id={id} />
    </div>
  );
}

/** Chooses a screen, an action, or a way that every menu has. */
export function TargetSelect(props: {
  editing: Editing;
  label: string;
  value: string;
  onChange: (to: string) => void;
  none?: string | undefined;
}) {
  const { menu } = props.editing;
  const screens = Object.keys(treeOf(menu.screens));
  const actions = Object.keys(treeOf(menu.actions));
  const known = [...screens, ...actions, ...specialTargets];
  return (
    <label className="small">
      {props.label}
      <select value={props.value} onChange={(event) => props.onChange(event.target.value)}>
        {(props.none !== undefined || props.value === "") && (
          <option value="">{props.none ?? say("menu.choose")}</option>
        )}
        {props.value && !known.includes(props.value) && (
          <option value={props.value}>{say("menu.elsewhere", { name: props.value })}</option>
        )}
        <optgroup label={say("operator.screens")}>
          {screens.map((id) => (
            <option key={id} value={id}>
              {targetName(menu, id)}
            </option>
          ))}
        </optgroup>
        <optgroup label={say("menu.alwaysThere")}>
          {specialTargets.map((id) => (
            <option key={id} value={id}>
              {targetName(menu, id)}
            </option>
          ))}
        </optgroup>
        {actions.length > 0 && (
          <optgroup label={say("menu.doesFirst")}>
            {actions.map((id) => (
              <option key={id} value={id}>
                {targetName(menu, id)}
              </option>
            ))}
          </optgroup>
        )}
      </select>
    </label>
  );
}

/** Chooses a condition; those of several words are written in the text. */
export function ConditionSelect(props: {
  guards: string[];
  label: string;
  value: string;
  onChange: (when: string) => void;
}) {
  const all = props.guards.flatMap((guard) => [guard, `!${guard}`]);
  return (
    <label className="small">
      {props.label}
      <select value={props.value} onChange={(event) => props.onChange(event.target.value)}>
        <option value="">{say("menu.always")}</option>
        {props.value && !all.includes(props.value) && (
          <option value={props.value} dir="auto">
            {props.value}
          </option>
        )}
        {props.guards.map((guard) => (
          <option key={guard} value={guard}>
            {say("menu.ifCondition", { guard })}
          </option>
        ))}
        {props.guards.map((guard) => (
          <option key={`!${guard}`} value={`!${guard}`}>
            {say("menu.unlessCondition", { guard })}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The target with a notice, or with none. */
function withNotice({ when, to }: Target, notice: Tree): Target {
  return Object.keys(notice).length > 0 ? { when, to, notice } : { when, to };
}

/** What is said above the next screen, in every language. Folded up while there is nothing to say. */
function Notice(props: {
  editing: Editing;
  target: Target;
  label: string;
  onChange: (notice: Tree) => void;
}) {
  const notice = props.target.notice ?? {};
  // It stays as somebody opened it, whatever is in it.
  const [isOpen] = useState(Object.keys(notice).length > 0);
  return (
    <details className="small menu-notice" open={isOpen}>
      <summary>{props.label}</summary>
      {languagesOf(props.editing.menu).map((language) => (
        <label key={language} className="small">
          {say("menu.withLanguage", { label: say("menu.notice"), language })}
          <input
            lang={language}
            dir="auto"
            autoComplete="off"
            aria-label={say("menu.inLanguage", { label: props.label, language })}
            value={wordOf(notice[language])}
            onChange={({ target: { value } }) =>
              props.onChange(
                value
                  ? { ...notice, [language]: value }
                  : Object.fromEntries(Object.entries(notice).filter(([l]) => l !== language)),
              )
            }
          />
        </label>
      ))}
    </details>
  );
}

/** Where something leads: one way, or several of which the first that may be is taken. */
export function NextField(props: {
  editing: Editing;
  label: string;
  path: (string | number)[];
  at: string;
  value: Value | undefined;
  none?: string;
}) {
  const { editing } = props;
  const targets = targetsOf(props.value);
  const shown = targets.length > 0 ? targets : [{ when: "", to: "" }];
  const write = (all: Target[]) =>
    editing.change(props.path, nextOf(all.filter((t) => t.to !== "" || t.when !== "")));
  const set = (i: number, target: Target) => write(shown.map((one, k) => (k === i ? target : one)));
  return (
    <div className="menu-next">
      {shown.map((target, i) => (
        <div key={i} className="stack">
          <div className="row menu-way">
            {(shown.length > 1 || target.when !== "") && (
              <ConditionSelect
                guards={editing.guards}
                label={say(i === 0 ? "menu.when" : "menu.elseWhen")}
                value={target.when}
                onChange={(when) => set(i, { ...target, when })}
              />
            )}
            <TargetSelect
              editing={editing}
              label={i === 0 ? props.label : say("menu.elseGoesTo")}
              value={target.to}
              none={shown.length === 1 ? props.none : undefined}
              onChange={(to) => set(i, { ...target, to })}
            />
            {shown.length > 1 && (
              <button
                type="button"
                className="quiet"
                aria-label={say("menu.removeWay", { number: i + 1 })}
                title={say("menu.removeThisWay")}
                onClick={() => write(shown.filter((_, k) => k !== i))}
              >
                <Icon name="close" />
              </button>
            )}
          </div>
          {target.to !== "" && (
            <Notice
              key={`${props.at} ${i}`}
              editing={editing}
              target={target}
              label={say("menu.noticeOf", { name: targetName(editing.menu, target.to) })}
              onChange={(notice) => set(i, withNotice(target, notice))}
            />
          )}
        </div>
      ))}
      {targets.length > 0 && (
        <button
          type="button"
          className="quiet small"
          onClick={() =>
            write([{ when: editing.guards[0] ?? "", to: shown[0]?.to ?? "" }, ...shown])
          }
        >
          <Icon name="plus" /> {say("menu.otherWay")}
        </button>
      )}
      <Findings issues={editing.issues} at={props.at} />
    </div>
  );
}
