import { useState, type ReactNode } from "react";
import { Icon } from "../../../shell/icons";
import { say, type Key } from "../../../words";
import { Adding } from "./Adding";
import { Findings, TextFields, type Editing } from "./Fields";
import { listOf, treeOf, wordOf, type Tree, type Value } from "./draft";
import { useCollections, useEndpoints, type Offered } from "./offered";

/** A declaration that is edited, and where it is. */
interface One {
  editing: Editing;
  path: (string | number)[];
  tree: Tree;
}

/** What a menu declares for its steps: forms that are kept, lists that are read, programs that are called. */
export function Declarations({ editing }: { editing: Editing }) {
  const first = Object.keys(treeOf(editing.menu.variables))[0] ?? "";
  const fields = [{ name: "answer", var: first, kind: "text" }];
  return (
    <>
      <Section
        editing={editing}
        part="forms"
        heading="menu.forms"
        another="menu.addForm"
        fresh={() => ({ fields })}
        draw={(one) => <FormFields {...one} />}
      />
      <Section
        editing={editing}
        part="lists"
        heading="menu.lists"
        another="menu.addList"
        fresh={(name) => ({ file: `${name}.csv`, show: {} })}
        draw={(one) => <ListFields {...one} />}
      />
      <Section
        editing={editing}
        part="webhooks"
        heading="menu.webhooks"
        another="menu.addWebhook"
        fresh={() => ({ endpoint: "" })}
        draw={(one) => <WebhookFields {...one} />}
      />
    </>
  );
}

function Section(props: {
  editing: Editing;
  part: "forms" | "lists" | "webhooks";
  heading: Key;
  another: Key;
  fresh: (name: string) => Tree;
  draw: (one: One) => ReactNode;
}) {
  const { editing, part } = props;
  const all = Object.entries(treeOf(editing.menu[part]));
  return (
    <section className="stack" aria-label={say(props.heading)}>
      <h3 className="section-label">{say(props.heading)}</h3>
      {all.map(([name, tree]) => (
        <details key={name} className="menu-notice">
          <summary className="mono" dir="auto">
            {name}
          </summary>
          <div className="stack">
            {props.draw({ editing, path: [part, name], tree: treeOf(tree) })}
            <p>
              <button
                type="button"
                className="quiet small"
                onClick={() => editing.change(all.length > 1 ? [part, name] : [part], undefined)}
              >
                <Icon name="close" /> {say("menu.forget", { name })}
              </button>
            </p>
          </div>
        </details>
      ))}
      {all.map(([name]) => (
        <Findings key={name} issues={editing.issues} at={`${part}.${name}`} />
      ))}
      <Adding
        label={say(props.another)}
        taken={all.map(([name]) => name)}
        onAdd={(name) => editing.change([part, name], props.fresh(name))}
      />
    </section>
  );
}

const fieldKinds: [string, Key][] = [
  ["text", "menu.anyText"],
  ["number", "menu.aNumber"],
  ["date", "menu.aDate"],
  ["choice", "menu.oneOf"],
];

function FormFields({ editing, path, tree }: One) {
  const fields = listOf(tree.fields).map(treeOf);
  return (
    <>
      <div className="row">
        <Variable one={{ editing, path, tree }} field="consent" label={say("menu.consent")} />
        <Word one={{ editing, path, tree }} field="notify" label={say("menu.notify")} />
        <Tick one={{ editing, path, tree }} field="receipt" label={say("menu.receipt")} />
      </div>
      <ul className="plain stack">
        {fields.map((field, i) => {
          const one = { editing, path: [...path, "fields", i], tree: field };
          return (
            <li key={i} className="menu-option" aria-label={say("menu.field", { number: i + 1 })}>
              <div className="row">
                <Word one={one} field="name" label={say("menu.fieldName")} isNeeded />
                <Variable one={one} field="var" label={say("menu.fromVariable")} isNeeded />
                <label className="small">
                  {say("menu.itIs")}
                  <select
                    value={wordOf(field.kind)}
                    onChange={(e) => editing.change([...one.path, "kind"], e.target.value)}
                  >
                    {fieldKinds.map(([kind, says]) => (
                      <option key={kind} value={kind}>
                        {say(says)}
                      </option>
                    ))}
                  </select>
                </label>
                <Tick one={one} field="optional" label={say("menu.optional")} />
                {fields.length > 1 && (
                  <button
                    type="button"
                    className="quiet"
                    aria-label={say("menu.removeField", { number: i + 1 })}
                    onClick={() => editing.change(one.path, undefined)}
                  >
                    <Icon name="close" />
                  </button>
                )}
              </div>
              {field.kind === "choice" && (
                <Lines one={one} field="choices" label={say("menu.oneOfThese")} />
              )}
            </li>
          );
        })}
      </ul>
      <p>
        <button
          type="button"
          className="quiet small"
          onClick={() =>
            editing.change([...path, "fields", fields.length], {
              name: `answer${fields.length + 1}`,
              var: wordOf(fields.at(-1)?.var),
              kind: "text",
            })
          }
        >
          <Icon name="plus" /> {say("menu.addField")}
        </button>
      </p>
    </>
  );
}

/** What no id is. */
const otherOne = "\n";

const sources: ReadonlySet<string> = new Set(["file", "document", "collection"]);

function ListFields({ editing, path, tree }: One) {
  const one = { editing, path, tree };
  const collections = useCollections();
  const isFile = tree.document === undefined;
  /** A list is one file, or one document of a collection. */
  const choose = (wantsFile: boolean) => {
    const from = wantsFile ? { file: "" } : { document: "", collection: "" };
    const others = Object.entries(tree).filter(([name]) => !sources.has(name));
    editing.change(path, { ...from, ...Object.fromEntries(others) });
  };
  return (
    <>
      <div className="row">
        <label className="small">
          {say("menu.rowsFrom")}
          <select
            value={isFile ? "file" : "document"}
            onChange={(event) => choose(event.target.value === "file")}
          >
            <option value="file">{say("menu.aFile")}</option>
            <option value="document">{say("menu.aDocument")}</option>
          </select>
        </label>
        {isFile ? (
          <Word one={one} field="file" label={say("menu.fileName")} isNeeded />
        ) : (
          <>
            <Word one={one} field="document" label={say("menu.documentPath")} isNeeded />
            <Chosen
              one={one}
              field="collection"
              label={say("menu.collectionId")}
              chosen={say("menu.collection")}
              offered={collections}
            />
          </>
        )}
        <Word one={one} field="sheet" label={say("menu.sheet")} />
      </div>
      <TextFields
        editing={editing}
        label={say("menu.rowSays")}
        path={[...path, "show"]}
        at={`${path.join(".")}.show`}
        value={tree.show}
      />
      <Lines one={one} field="search" label={say("menu.searched")} />
    </>
  );
}

function WebhookFields({ editing, path, tree }: One) {
  const one = { editing, path, tree };
  const endpoints = useEndpoints();
  return (
    <>
      <div className="row">
        <Chosen
          one={one}
          field="endpoint"
          label={say("menu.endpoint")}
          chosen={say("menu.ownWebhook")}
          offered={endpoints}
        />
        <Tick one={one} field="once" label={say("menu.onceOnly")} />
      </div>
      <Names one={one} field="send" label={say("menu.isTold")} />
      <Names one={one} field="take" label={say("menu.answersFill")} />
    </>
  );
}

interface Field {
  one: One;
  field: string;
  label: string;
  /** Whether an empty one stays, for the check to say what is missing. */
  isNeeded?: boolean;
}

/** One of those that there are, by its name. Another one is typed by its id. */
function Chosen(props: Field & { chosen: string; offered: readonly Offered[] }) {
  const { one, field, offered } = props;
  const [isTyped, setTyped] = useState(false);
  const value = wordOf(one.tree[field]);
  if (isTyped || offered.length === 0) return <Word {...props} isNeeded />;
  const isKnown = offered.some(({ id }) => id === value);
  function choose(id: string) {
    setTyped(id === otherOne);
    one.editing.change([...one.path, field], id === otherOne ? "" : id);
  }
  return (
    <label className="small">
      {props.chosen}
      <select value={value} onChange={(event) => choose(event.target.value)}>
        {value === "" && <option value="">{say("menu.choose")}</option>}
        {value !== "" && !isKnown && <option value={value}>{value}</option>}
        {offered.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
        <option value={otherOne}>{say("menu.otherId")}</option>
      </select>
    </label>
  );
}

function Word({ one, field, label, isNeeded }: Field) {
  return (
    <label className="small">
      {label}
      <input
        dir="auto"
        autoComplete="off"
        value={wordOf(one.tree[field])}
        onChange={({ target: { value } }) =>
          one.editing.change([...one.path, field], value || (isNeeded ? "" : undefined))
        }
      />
    </label>
  );
}

function Tick({ one, field, label }: Field) {
  return (
    <label className="choice small">
      <input
        type="checkbox"
        checked={one.tree[field] === true}
        onChange={(event) =>
          one.editing.change([...one.path, field], event.target.checked ? true : undefined)
        }
      />
      {label}
    </label>
  );
}

function Variable({ one, field, label, isNeeded }: Field) {
  const value = wordOf(one.tree[field]);
  const names = Object.keys(treeOf(one.editing.menu.variables));
  return (
    <label className="small">
      {label}
      <select
        value={value}
        onChange={(event) =>
          one.editing.change([...one.path, field], event.target.value || undefined)
        }
      >
        {(!isNeeded || value === "") && (
          <option value="">{say(isNeeded ? "menu.choose" : "menu.none")}</option>
        )}
        {value && !names.includes(value) && <option dir="auto">{value}</option>}
        {names.map((name) => (
          <option key={name} dir="auto">
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Some of the variables. */
function Names({ one, field, label }: Field) {
  const chosen = listOf(one.tree[field]).map(wordOf);
  const known = Object.keys(treeOf(one.editing.menu.variables));
  const write = (all: string[]) =>
    one.editing.change([...one.path, field], all.length > 0 ? all : undefined);
  return (
    <div role="group" aria-label={label}>
      <span className="small soft" aria-hidden="true">
        {label}
      </span>
      <div className="row">
        {[...known, ...chosen.filter((name) => !known.includes(name))].map((name) => (
          <label key={name} className="choice small">
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={(event) =>
                write(
                  event.target.checked
                    ? [...chosen, name]
                    : chosen.filter((other) => other !== name),
                )
              }
            />
            <span className="mono" dir="auto">
              {name}
            </span>
          </label>
        ))}
      </div>
    </div>
  );
}

const linesOf = (text: string) => text.split("\n").filter((line) => line.trim() !== "");
const isSame = (a: readonly Value[], b: readonly Value[]) => String(a) === String(b);

/** Words, each on a line of its own. An empty line is somebody who is about to write one more. */
function Lines({ one, field, label }: Field) {
  const value = listOf(one.tree[field]).map(wordOf);
  const [typed, setTyped] = useState("");
  return (
    <label className="small">
      {label}
      <textarea
        rows={3}
        dir="auto"
        value={isSame(linesOf(typed), value) ? typed : value.join("\n")}
        onChange={({ target: { value: text } }) => {
          setTyped(text);
          const lines = linesOf(text);
          one.editing.change([...one.path, field], lines.length > 0 ? lines : undefined);
        }}
      />
    </label>
  );
}
