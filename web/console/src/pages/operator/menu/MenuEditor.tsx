import { useRef, useState, type ChangeEvent } from "react";
import { useFeatures } from "../../../shell/features";
import { plural } from "../../../shell/format";
import { Icon } from "../../../shell/icons";
import { Link } from "../../../shell/Link";
import { Problem } from "../../../shell/Problem";
import { saveAs } from "../../../shell/save";
import { Skeleton } from "../../../shell/Skeleton";
import { MenuDrawing } from "../MenuDrawing";
import { ActionForm, ScreenForm } from "./ScreenForm";
import {
  findingsAt,
  firstLine,
  graphOf,
  languagesOf,
  listOf,
  partOf,
  put,
  screenSize,
  treeOf,
  wordOf,
  type Issue,
  type Tree,
} from "./draft";
import type { Editing } from "./Fields";
import { ChangesView, HistoryView } from "./Publishing";
import { TryPanel } from "./TryPanel";
import { useDraft, type DraftWork } from "./useDraft";
import { Adding, WholeForm } from "./WholeForm";
import "./menu.css";

const tabs = ["Screens", "Drawing", "Text", "Changes", "History"] as const;
type Tab = (typeof tabs)[number];

/** Draws, edits, tries and publishes the menus of the telephone. */
export default function MenuEditor() {
  const work = useDraft();
  const { draft, live } = work;
  const [tab, setTab] = useState<Tab>("Screens");
  const [part, setPart] = useState(0);
  const [selected, setSelected] = useState("");
  if (!draft || !live) {
    return work.error ? (
      <Problem error={work.error} />
    ) : (
      <Skeleton lines={8} label="Reading the menu" />
    );
  }
  const at = Math.min(part, Math.max(0, draft.parts.length - 1));
  const menu = draft.parts[at]?.menu;
  const shown: Tab = draft.plain && (tab === "Screens" || tab === "Drawing") ? "Text" : tab;
  const languages = [...new Set(draft.parts.flatMap((p) => languagesOf(p.menu)))];
  const codes = draft.parts.flatMap((p) => listOf(p.menu.codes).map(wordOf));

  function show(issue: Issue) {
    if (draft?.plain || !issue.path) {
      setTab("Text");
      return;
    }
    setPart(partOf(draft?.parts ?? [], issue));
    const [kind = "", id = ""] = issue.path.split(/[.[]/);
    setSelected(kind === "screens" || kind === "actions" ? `${kind}.${id}` : "");
    setTab("Screens");
  }
  function open(event: ChangeEvent<HTMLInputElement>) {
    const file = event.target.files?.[0];
    event.target.value = "";
    void file?.text().then((text) => work.setText(text));
  }
  return (
    <div className="stack menu-editor">
      <div className="row spread">
        <p className="soft small">
          <Link to="operator/menu">Figures</Link>
          {" · "}
          {live.readOnly
            ? `From ${live.where ?? "the settings"}: edit and try it here, then put the text there.`
            : live.version
              ? `Version ${live.version} is live, by ${live.author ?? "somebody"}.`
              : "The built-in menu is live."}
        </p>
        <div className="row">
          <button type="button" disabled={!work.canUndo} onClick={work.undo}>
            <Icon name="restore" /> Undo
          </button>
          <button
            type="button"
            onClick={() =>
              saveAs(new Blob([draft.text], { type: "application/yaml" }), "menu.yaml")
            }
          >
            <Icon name="download" /> Download
          </button>
          <label className="button">
            <Icon name="upload" /> Open a file
            <input
              type="file"
              accept=".yaml,.yml,.txt"
              className="visually-hidden"
              onChange={open}
            />
          </label>
        </div>
      </div>
      {live.problem && <p className="notice bad">{live.problem}</p>}
      <Problem error={work.error} />
      {work.isKept && (
        <p className="notice row spread" role="status">
          <span>This is the draft that you left here before.</span>
          <button type="button" onClick={work.discard}>
            Give it up
          </button>
        </p>
      )}
      <Checked work={work} onShow={show} />
      <div className="tabs" role="tablist" aria-label="Menu editor">
        {tabs.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`menu-tab-${name}`}
            aria-selected={name === shown}
            aria-controls="menu-tab-panel"
            disabled={
              draft.plain !== undefined &&
              draft.plain !== "" &&
              (name === "Screens" || name === "Drawing")
            }
            onClick={() => setTab(name)}
          >
            {name}
            {name === "Changes" && work.isChanged && (
              <span className="dot busy" aria-hidden="true" />
            )}
          </button>
        ))}
      </div>
      <div className="menu-work">
        <section
          className="card stack"
          role="tabpanel"
          id="menu-tab-panel"
          aria-labelledby={`menu-tab-${shown}`}
        >
          <h2 className="visually-hidden">{shown}</h2>
          {draft.parts.length > 1 && (shown === "Screens" || shown === "Drawing") && (
            <label className="small">
              Menu
              <select
                value={at}
                onChange={(event) => {
                  setPart(Number(event.target.value));
                  setSelected("");
                }}
              >
                {draft.parts.map((one, i) => (
                  <option key={i} value={i}>
                    {partName(one.menu)}
                  </option>
                ))}
              </select>
            </label>
          )}
          {shown === "Screens" && menu && (
            <Screens work={work} at={at} menu={menu} selected={selected} onSelect={setSelected} />
          )}
          {shown === "Drawing" && menu && (
            <MenuDrawing
              graph={graphOf(menu)}
              onEdit={(id) => {
                setSelected(`screens.${id}`);
                setTab("Screens");
              }}
            />
          )}
          {shown === "Text" && <TextTab work={work} />}
          {shown === "Changes" && <ChangesView work={work} onDone={() => setTab("History")} />}
          {shown === "History" && <HistoryView work={work} />}
        </section>
        <TryPanel
          text={draft.text}
          isGood={draft.issues.length === 0 && !work.isWaiting}
          languages={languages}
          guards={draft.guards}
          codes={codes}
          onShow={(id) => {
            const where = draft.parts.findIndex((p) => Object.hasOwn(treeOf(p.menu.screens), id));
            if (where >= 0)
              setPart(at in draft.parts && Object.hasOwn(treeOf(menu?.screens), id) ? at : where);
            setSelected(`screens.${id}`);
            setTab("Screens");
          }}
        />
      </div>
    </div>
  );
}

function partName(menu: Tree): string {
  if (menu.shared !== undefined) return `Shared: ${wordOf(menu.shared)}`;
  const codes = listOf(menu.codes).map(wordOf);
  return `${wordOf(menu.name)} (${codes.length > 0 ? codes.join(", ") : "all other codes"})`;
}

/** What the check says, with the way to each place. */
function Checked({ work, onShow }: { work: DraftWork; onShow: (issue: Issue) => void }) {
  const issues = work.draft?.issues ?? [];
  return (
    <div className="menu-checked" role="status">
      {work.isWaiting ? (
        <p className="small soft">Checking…</p>
      ) : issues.length === 0 ? (
        <p className="small good">
          {work.isChanged ? "The check passes: this can be published." : "The check passes."}
        </p>
      ) : (
        <details open={issues.length < 4}>
          <summary className="bad">{`The check found ${plural(issues.length, "fault")}`}</summary>
          <ul className="plain">
            {issues.slice(0, 50).map((issue, i) => (
              <li key={i}>
                <button type="button" className="link" onClick={() => onShow(issue)}>
                  {issue.path ?? `line ${issue.line}`}
                </button>{" "}
                <span className="small">{issue.message}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function TextTab({ work }: { work: DraftWork }) {
  const draft = work.draft;
  if (!draft) return null;
  return (
    <div className="stack">
      {draft.plain && (
        <p className="notice">{`This draft is edited as text alone: ${draft.plain}`}</p>
      )}
      <label>
        The menu as text (YAML)
        <textarea
          className="mono menu-source"
          spellCheck={false}
          value={draft.text}
          onChange={(event) => work.setText(event.target.value)}
        />
      </label>
      {draft.issues.length > 0 && (
        <ul className="plain small bad">
          {draft.issues.slice(0, 20).map((issue, i) => (
            <li key={i}>{`line ${issue.line}: ${issue.message}`}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Screens(props: {
  work: DraftWork;
  at: number;
  menu: Tree;
  selected: string;
  onSelect: (id: string) => void;
}) {
  const { work, at, menu, selected } = props;
  const [wanted, setWanted] = useState("");
  const room = useFeatures().screen;
  const head = useRef<HTMLDivElement>(null);
  const draft = work.draft;
  if (!draft) return null;
  const issues = draft.issues.filter((issue) => partOf(draft.parts, issue) === at);
  const measured = draft.menus?.find((m) => m.name === wordOf(menu.name));
  const setMenu = (next: Tree) =>
    work.setParts(draft.parts.map((part, i) => (i === at ? { ...part, menu: next } : part)));
  const editing: Editing = {
    menu,
    issues,
    guards: draft.guards,
    kinds: draft.kinds,
    runs: draft.runs,
    change: (path, value) => setMenu(put(menu, path, value)),
    replace: (next, chosen) => {
      setMenu(next);
      if (chosen !== undefined) props.onSelect(chosen);
    },
    size: (screen, language) => {
      const [page] = measured?.pages[screen]?.[language] ?? [];
      const limit = page && { septets: 160, characters: 70, [page.unit]: page.limit };
      return screenSize(menu, screen, language, limit ?? room);
    },
    pages: (screen, language) => measured?.pages[screen]?.[language]?.length ?? 1,
  };
  const language = languagesOf(menu)[0];
  const entries = (kind: "screens" | "actions") =>
    Object.entries(treeOf(menu[kind])).filter(([id, one]) =>
      `${id} ${firstLine(treeOf(one), language)}`.toLowerCase().includes(wanted.toLowerCase()),
    );
  const [kind = "", id = ""] = selected.split(/\.(.*)/s);
  const isThere =
    (kind === "screens" || kind === "actions") && Object.hasOwn(treeOf(menu[kind]), id);
  const taken = [...Object.keys(treeOf(menu.screens)), ...Object.keys(treeOf(menu.actions))];
  function choose(next: string) {
    props.onSelect(next);
    // With the keyboard, the form is next; and where it stands below the list, it comes into sight.
    head.current?.focus({ preventScroll: true });
    if (matchMedia("(max-width: 700px)").matches) head.current?.scrollIntoView();
  }
  const entry = (key: string, name: string, more: string) => {
    const faults = key === "" ? 0 : findingsAt(issues, key).length;
    return (
      <li key={key}>
        <button
          type="button"
          className="quiet"
          aria-current={key === selected || (key === "" && !isThere) ? "true" : undefined}
          onClick={() => choose(key)}
        >
          <span className="grow">
            {name} <span className="small soft">{more}</span>
          </span>
          {faults > 0 && <span className="badge low">{plural(faults, "fault")}</span>}
        </button>
      </li>
    );
  };
  return (
    <div className="menu-screens">
      <nav aria-label="Screens of the menu" className="stack">
        <label className="small">
          Find a screen
          <input type="search" value={wanted} onChange={(event) => setWanted(event.target.value)} />
        </label>
        <ul className="plain menu-list">
          {entry("", "Whole menu", "languages, keys")}
          {entries("screens").map(([name, one]) =>
            entry(`screens.${name}`, name, firstLine(treeOf(one), language)),
          )}
          {entries("actions").map(([name, one]) =>
            entry(`actions.${name}`, name, `step: ${wordOf(treeOf(one).run)}`),
          )}
        </ul>
        <Adding
          label="New screen"
          taken={taken}
          onAdd={(name) =>
            editing.replace(
              put(menu, ["screens", name], {
                text: {},
                options: [],
                back: wordOf(menu.start),
                exit: true,
              }),
              `screens.${name}`,
            )
          }
        />
        <Adding
          label="New step that does something"
          taken={taken}
          onAdd={(name) =>
            editing.replace(
              put(menu, ["actions", name], { run: "readList", on: {} }),
              `actions.${name}`,
            )
          }
        />
      </nav>
      <div
        ref={head}
        className="menu-form"
        tabIndex={-1}
        role="group"
        aria-label={isThere ? id : "Whole menu"}
      >
        {!isThere && <WholeForm editing={editing} />}
        {isThere && kind === "screens" && <ScreenForm editing={editing} id={id} />}
        {isThere && kind === "actions" && <ActionForm editing={editing} id={id} />}
      </div>
    </div>
  );
}
