import { useState, type FormEvent } from "react";
import { list } from "../../../shell/format";
import { Icon } from "../../../shell/icons";
import { say, type Key } from "../../../words";
import { ConditionSelect, Findings, NextField, TextFields, type Editing } from "./Fields";
import {
  findingsAt,
  languagesOf,
  leadsTo,
  listOf,
  put,
  renamed,
  treeOf,
  wordOf,
  type Tree,
  type Value,
} from "./draft";

/** A name that texts, keys and the check can use. */
export const nameRule = /^[A-Za-z][A-Za-z0-9_-]{0,39}$/;

/** What the caller does on a screen. */
const answers: [kind: string, says: Key][] = [
  ["choose", "menu.choosesKey"],
  ["type", "menu.typesSomething"],
  ["end", "menu.isDone"],
];

/** Everything about one screen. */
export function ScreenForm({ editing, id }: { editing: Editing; id: string }) {
  const { menu, change } = editing;
  const path = ["screens", id];
  const at = `screens.${id}`;
  const screen = treeOf(treeOf(menu.screens)[id]);
  const options = listOf(screen.options).map(treeOf);
  const kind = screen.end === true ? "end" : screen.input === undefined ? "choose" : "type";
  const flag = (field: string) => (event: { target: { checked: boolean } }) =>
    change([...path, field], event.target.checked ? true : undefined);

  function setKind(next: string) {
    let now: Tree = screen;
    for (const field of ["end", "input"]) now = put(now, [field], undefined);
    if (next === "end") {
      for (const field of ["options", "back", "exit", "paged"]) now = put(now, [field], undefined);
      now = put(now, ["end"], true);
    }
    if (next === "type") now = put(now, ["input"], blankInput(menu));
    change(path, now);
  }
  function addOption() {
    const used = options.map((option) => Number(wordOf(option.key)));
    const key = [1, 2, 3, 4, 5, 6, 7, 8, 9].find((n) => !used.includes(n)) ?? options.length + 1;
    change([...path, "options", options.length], { key: String(key), label: {}, next: ":start" });
  }
  function move(from: number, to: number) {
    const all = [...listOf(screen.options)];
    const [one] = all.splice(from, 1);
    if (one !== undefined) all.splice(to, 0, one);
    change([...path, "options"], all);
  }
  const own = editing.issues.filter((issue) => issue.path === at);
  return (
    <div className="stack">
      <Naming key={id} editing={editing} kind="screens" id={id} />
      <Findings issues={own} at={at} />
      <TextFields
        editing={editing}
        label={say("menu.text")}
        path={[...path, "text"]}
        at={`${at}.text`}
        value={screen.text}
        rows={3}
        counted={id}
      />
      <fieldset className="row menu-kind">
        <legend className="small soft">{say("menu.callerThen")}</legend>
        {answers.map(([value, label]) => (
          <label key={value} className="choice">
            <input
              type="radio"
              name={`kind-${id}`}
              checked={kind === value}
              onChange={() => setKind(value)}
            />
            {say(label)}
          </label>
        ))}
      </fieldset>
      {screen.input !== undefined && (
        <InputFields editing={editing} id={id} input={treeOf(screen.input)} />
      )}
      {kind !== "end" && (
        <section aria-label={say("menu.choices")} className="stack">
          <h3 className="section-label">{say("menu.choices")}</h3>
          <ol className="plain menu-options">
            {options.map((option, i) => (
              <OptionFields
                key={i}
                editing={editing}
                path={[...path, "options", i]}
                at={`${at}.options[${i}]`}
                option={option}
                number={i + 1}
                onUp={i > 0 ? () => move(i, i - 1) : undefined}
                onDown={i < options.length - 1 ? () => move(i, i + 1) : undefined}
              />
            ))}
          </ol>
          <button type="button" onClick={addOption}>
            <Icon name="plus" /> {say("menu.addChoice")}
          </button>
          <NextField
            editing={editing}
            label={say("menu.backGoesTo")}
            path={[...path, "back"]}
            at={`${at}.back`}
            value={screen.back}
            none={say("menu.noneHere")}
          />
          <div className="row">
            <label className="choice small">
              <input type="checkbox" checked={screen.exit === true} onChange={flag("exit")} />
              {say("menu.exitEnds")}
            </label>
            <label className="choice small">
              <input type="checkbox" checked={screen.paged === true} onChange={flag("paged")} />
              {say("menu.mayGoOn")}
            </label>
            <label className="choice small">
              <input type="checkbox" checked={screen.private === true} onChange={flag("private")} />
              {say("menu.onlyLoggedIn")}
            </label>
          </div>
          <Findings issues={editing.issues} at={`${at}.exit`} />
          <Findings issues={editing.issues} at={`${at}.paged`} />
        </section>
      )}
    </div>
  );
}

function OptionFields(props: {
  editing: Editing;
  path: (string | number)[];
  at: string;
  option: Tree;
  number: number;
  onUp: (() => void) | undefined;
  onDown: (() => void) | undefined;
}) {
  const { editing, path, at, option } = props;
  const isWrong = findingsAt(editing.issues, at).length > 0;
  return (
    <li
      className={isWrong ? "menu-option wrong" : "menu-option"}
      aria-label={say("menu.choice", { number: props.number })}
    >
      <div className="row menu-option-head">
        <label className="small menu-key">
          {say("menu.key")}
          <input
            value={wordOf(option.key)}
            inputMode="numeric"
            maxLength={3}
            onChange={(event) => editing.change([...path, "key"], event.target.value)}
          />
        </label>
        <ConditionSelect
          guards={editing.guards}
          label={say("menu.shown")}
          value={wordOf(option.when)}
          onChange={(when) => editing.change([...path, "when"], when || undefined)}
        />
        <label className="choice small">
          <input
            type="checkbox"
            checked={option.hidden === true}
            onChange={(e) =>
              editing.change([...path, "hidden"], e.target.checked ? true : undefined)
            }
          />
          {say("menu.worksHidden")}
        </label>
        <span className="grow" />
        <button
          type="button"
          className="quiet"
          aria-label={say("menu.moveUp")}
          disabled={!props.onUp}
          onClick={props.onUp}
        >
          ↑
        </button>
        <button
          type="button"
          className="quiet"
          aria-label={say("menu.moveDown")}
          disabled={!props.onDown}
          onClick={props.onDown}
        >
          ↓
        </button>
        <button
          type="button"
          className="quiet"
          aria-label={say("menu.removeChoice", { number: props.number })}
          title={say("menu.removeThisChoice")}
          onClick={() => editing.change(path, undefined)}
        >
          <Icon name="close" />
        </button>
      </div>
      <Findings issues={editing.issues} at={`${at}.key`} />
      {option.hidden !== true && (
        <TextFields
          editing={editing}
          label={say("menu.says")}
          path={[...path, "label"]}
          at={`${at}.label`}
          value={option.label}
        />
      )}
      <NextField
        editing={editing}
        label={say("menu.goesTo")}
        path={[...path, "next"]}
        at={`${at}.next`}
        value={option.next}
      />
      <Settled
        key={at}
        editing={editing}
        path={[...path, "set"]}
        at={`${at}.set`}
        value={option.set}
      />
    </li>
  );
}

/** What choosing it puts into variables; an empty value clears one. */
function Settled(props: {
  editing: Editing;
  path: (string | number)[];
  at: string;
  value: Value | undefined;
}) {
  const { editing, path, at } = props;
  const set = Object.entries(treeOf(props.value));
  const free = Object.keys(treeOf(editing.menu.variables)).filter(
    (name) => !set.some(([taken]) => taken === name),
  );
  const [isOpen] = useState(set.length > 0);
  if (set.length === 0 && free.length === 0) return null;
  return (
    <details className="small menu-notice" open={isOpen}>
      <summary>{say("menu.remembersThen")}</summary>
      {set.map(([name, value]) => (
        <div key={name} className="row">
          <label className="small grow">
            <span className="mono" dir="auto">
              {name}
            </span>
            <input
              dir="auto"
              autoComplete="off"
              aria-label={say("menu.valueOf", { name })}
              placeholder={say("menu.nothingKept")}
              value={wordOf(value)}
              onChange={(event) => editing.change([...path, name], event.target.value)}
            />
          </label>
          <button
            type="button"
            className="quiet"
            aria-label={say("menu.leaveAlone", { name })}
            onClick={() => editing.change(set.length > 1 ? [...path, name] : path, undefined)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
      {free.length > 0 && (
        <label className="small">
          {say("menu.remembersOne")}
          <select value="" onChange={(event) => editing.change([...path, event.target.value], "")}>
            <option value="">{say("menu.choose")}</option>
            {free.map((name) => (
              <option key={name} dir="auto">
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <Findings issues={editing.issues} at={at} />
    </details>
  );
}

const kinds: Record<string, Key> = {
  text: "menu.anyText",
  name: "menu.aName",
  email: "menu.anEmail",
  digits: "menu.digits",
  pin: "menu.aPin",
  newpin: "menu.aNewPin",
  account: "menu.anAccount",
};

function kindName(kind: string): string {
  const key = kinds[kind];
  return key ? say(key) : kind;
}

function InputFields({ editing, id, input }: { editing: Editing; id: string; input: Tree }) {
  const path = ["screens", id, "input"];
  const at = `screens.${id}.input`;
  const variables = Object.keys(treeOf(editing.menu.variables));
  const isSecret = input.kind === "pin" || input.kind === "newpin";
  const size = (field: string) => (event: { target: { value: string } }) =>
    editing.change([...path, field], Number(event.target.value.replace(/\D/g, "")));
  return (
    <section aria-label={say("menu.whatIsTyped")} className="stack">
      <h3 className="section-label">{say("menu.whatIsTyped")}</h3>
      <div className="row">
        <label className="small">
          {say("menu.itIs")}
          <select
            value={wordOf(input.kind)}
            onChange={(e) => editing.change([...path, "kind"], e.target.value)}
          >
            {editing.kinds.map((kind) => (
              <option key={kind} value={kind}>
                {kindName(kind)}
              </option>
            ))}
          </select>
        </label>
        <label className="small">
          {say("menu.keptAs")}
          {isSecret ? (
            <input
              value={wordOf(input.var)}
              onChange={(e) => editing.change([...path, "var"], e.target.value)}
            />
          ) : (
            <select
              value={wordOf(input.var)}
              onChange={(e) => editing.change([...path, "var"], e.target.value)}
            >
              {!variables.includes(wordOf(input.var)) && (
                <option dir="auto">{wordOf(input.var)}</option>
              )}
              {variables.map((name) => (
                <option key={name} dir="auto">
                  {name}
                </option>
              ))}
            </select>
          )}
        </label>
        <label className="small menu-key">
          {say("menu.from")}
          <input value={wordOf(input.min)} inputMode="numeric" onChange={size("min")} />
        </label>
        <label className="small menu-key">
          {say("menu.toCharacters")}
          <input value={wordOf(input.max)} inputMode="numeric" onChange={size("max")} />
        </label>
        {!isSecret && (
          <label className="small menu-key">
            {say("menu.skippedBy")}
            <input
              value={wordOf(input.skip)}
              inputMode="numeric"
              maxLength={3}
              placeholder={say("menu.none")}
              onChange={(e) => editing.change([...path, "skip"], e.target.value || undefined)}
            />
          </label>
        )}
      </div>
      {["var", "kind", "skip"].map((field) => (
        <Findings key={field} issues={editing.issues} at={`${at}.${field}`} />
      ))}
      <Findings
        issues={editing.issues.filter((i) => i.path === at || i.path === `${at}.errors`)}
        at={at}
      />
      <TextFields
        editing={editing}
        label={say("menu.ifWrong")}
        path={[...path, "errors", "invalid"]}
        at={`${at}.errors.invalid`}
        value={treeOf(input.errors).invalid}
      />
      {input.kind === "newpin" && (
        <TextFields
          editing={editing}
          label={say("menu.ifTooEasy")}
          path={[...path, "errors", "weak"]}
          at={`${at}.errors.weak`}
          value={treeOf(input.errors).weak}
        />
      )}
      <NextField
        editing={editing}
        label={say("menu.thenGoesTo")}
        path={[...path, "next"]}
        at={`${at}.next`}
        value={input.next}
      />
    </section>
  );
}

/** An input that asks for a short text. */
function blankInput(menu: Tree): Tree {
  const [variable = "answer"] = Object.keys(treeOf(menu.variables));
  const texts: Tree = {};
  for (const language of languagesOf(menu)) texts[language] = "?";
  return {
    var: variable,
    kind: "text",
    min: 1,
    max: 40,
    errors: { invalid: texts },
    next: ":start",
  };
}

/** What a menu uses a screen as. */
const roleNames: Record<string, Key> = {
  start: "menu.theStart",
  exit: "menu.theExit",
  resume: "menu.theResume",
  login: "menu.theLogin",
  language: "menu.theLanguage",
};

/** Renames and removes a screen or an action. */
export function Naming(props: { editing: Editing; kind: "screens" | "actions"; id: string }) {
  const { editing, kind, id } = props;
  const [name, setName] = useState(id);
  const taken = { ...treeOf(editing.menu.screens), ...treeOf(editing.menu.actions) };
  const isFree = name === id || (nameRule.test(name) && !(name in taken));
  const from = leadsTo(editing.menu, id);
  const roles = Object.entries(roleNames).flatMap(([role, name]) =>
    editing.menu[role] === id ? [say(name)] : [],
  );
  function rename(event: FormEvent) {
    event.preventDefault();
    if (isFree && name !== id)
      editing.replace(renamed(editing.menu, kind, id, name), `${kind}.${name}`);
  }
  return (
    <form className="row menu-naming" onSubmit={rename}>
      <label className="small">
        {say(kind === "screens" ? "menu.nameOfScreen" : "menu.nameOfStep")}
        <input
          value={name}
          onChange={(event) => setName(event.target.value)}
          aria-invalid={!isFree}
        />
      </label>
      {name !== id && (
        <button type="submit" disabled={!isFree}>
          {say("menu.rename")}
        </button>
      )}
      <span className="small soft grow">
        {from.length > 0
          ? say("menu.reachedFrom", { names: list(from) })
          : say("menu.nothingLeads")}{" "}
        {roles.length > 0 && say("menu.isRole", { roles: list(roles, "conjunction") })}
      </span>
      <button
        type="button"
        className="quiet"
        disabled={roles.length > 0}
        onClick={() => editing.replace(put(editing.menu, [kind, id], undefined), "")}
      >
        <Icon name="trash" /> {say("menu.remove")}
      </button>
    </form>
  );
}

/** What happens between two screens. */
export function ActionForm({ editing, id }: { editing: Editing; id: string }) {
  const path = ["actions", id];
  const at = `actions.${id}`;
  const action = treeOf(treeOf(editing.menu.actions)[id]);
  const run = wordOf(action.run);
  const named: Record<string, [field: string, all: string, says: Key]> = {
    storeForm: ["form", "forms", "menu.withForm"],
    readList: ["list", "lists", "menu.withList"],
    callWebhook: ["webhook", "webhooks", "menu.withWebhook"],
  };
  const needs = named[run];
  function setRun(next: string) {
    let on: Tree = {};
    for (const outcome of editing.runs[next] ?? [])
      on = put(on, [outcome], treeOf(action.on)[outcome] ?? ":start");
    const only: Value = { run: next, on };
    editing.change(path, only);
  }
  return (
    <div className="stack">
      <Naming key={id} editing={editing} kind="actions" id={id} />
      <Findings
        issues={editing.issues.filter((i) => i.path === at || i.path === `${at}.on`)}
        at={at}
      />
      <div className="row">
        <label className="small">
          {say("menu.itDoes")}
          <select value={run} onChange={(event) => setRun(event.target.value)}>
            {Object.keys(editing.runs)
              .sort()
              .map((name) => (
                <option key={name} dir="auto">
                  {name}
                </option>
              ))}
          </select>
        </label>
        {needs && (
          <label className="small">
            {say(needs[2])}
            <select
              value={wordOf(action[needs[0]])}
              onChange={(event) => editing.change([...path, needs[0]], event.target.value)}
            >
              <option value="">{say("menu.chooseOne")}</option>
              {Object.keys(treeOf(editing.menu[needs[1]])).map((name) => (
                <option key={name} dir="auto">
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      {["run", "form", "list", "webhook"].map((field) => (
        <Findings key={field} issues={editing.issues} at={`${at}.${field}`} />
      ))}
      {((Object.hasOwn(editing.runs, run) && editing.runs[run]) || []).map((outcome) => (
        <NextField
          key={outcome}
          editing={editing}
          label={say("menu.ifAnswers", { outcome })}
          path={[...path, "on", outcome]}
          at={`${at}.on.${outcome}`}
          value={treeOf(action.on)[outcome]}
        />
      ))}
    </div>
  );
}
