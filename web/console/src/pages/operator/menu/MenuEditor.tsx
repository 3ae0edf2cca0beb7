import { useRef, useState, type ChangeEvent } from "react";
import { useFeatures } from "../../../shell/features";
import { list } from "../../../shell/format";
import { Icon } from "../../../shell/icons";
import { Link } from "../../../shell/Link";
import { Problem } from "../../../shell/Problem";
import { saveAs } from "../../../shell/save";
import { Skeleton } from "../../../shell/Skeleton";
import { say, type Key } from "../../../words";
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
import { useDraft, type DraftWork, type Live } from "./useDraft";
import { Adding } from "./Adding";
import { WholeForm } from "./WholeForm";
import "./menu.css";

const tabs = ["screens", "drawing", "text", "changes", "history"] as const;
type Tab = (typeof tabs)[number];
const titles: Record<Tab, Key> = {
  screens: "operator.screens",
  drawing: "menu.drawing",
  text: "menu.text",
  changes: "menu.changes",
  history: "menu.history",
};

/** Draws, edits, tries and publishes the menus of the telephone. */
export default function MenuEditor() {
  const work = useDraft();
  const { draft, live } = work;
  const [tab, setTab] = useState<Tab>("screens");
  const [part, setPart] = useState(0);
  const [selected, setSelected] = useState("");
  if (!draft || !live) {
    return work.error ? (
      <Problem error={work.error} />
    ) : (
      <Skeleton lines={8} label={say("operator.readingMenu")} />
    );
  }
  const at = Math.min(part, Math.max(0, draft.parts.length - 1));
  const menu = draft.parts[at]?.menu;
  const shown: Tab = draft.plain && (tab === "screens" || tab === "drawing") ? "text" : tab;
  const languages = [...new Set(draft.parts.flatMap((p) => languagesOf(p.menu)))];
  const codes = draft.parts.flatMap((p) => listOf(p.menu.codes).map(wordOf));

  function show(issue: Issue) {
    if (draft?.plain || !issue.path) {
      setTab("text");
      return;
    }
    setPart(partOf(draft?.parts ?? [], issue));
    const [kind = "", id = ""] = issue.path.split(/[.[]/);
    setSelected(kind === "screens" || kind === "actions" ? `${kind}.${id}` : "");
    setTab("screens");
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
          <Link to="operator/menu">{say("menu.figures")}</Link>
          {" · "}
          {liveWords(live)}
        </p>
        <div className="row">
          <button type="button" disabled={!work.canUndo} onClick={work.undo}>
            <Icon name="restore" /> {say("menu.undo")}
          </button>
          <button
            type="button"
            onClick={() =>
              saveAs(new Blob([draft.text], { type: "application/yaml" }), "menu.yaml")
            }
          >
            <Icon name="download" /> {say("menu.download")}
          </button>
          <label className="button">
            <Icon name="upload" /> {say("menu.openFile")}
            <input
              type="file"
              accept=".yaml,.yml,.txt"
              className="visually-hidden"
              onChange={open}
            />
          </label>
        </div>
      </div>
      {live.problem && (
        <p className="notice bad" dir="auto">
          {live.problem}
        </p>
      )}
      <Problem error={work.error} />
      {work.isKept && (
        <p className="notice row spread" role="status">
          <span>{say("menu.leftBefore")}</span>
          <button type="button" onClick={work.discard}>
            {say("menu.giveUp")}
          </button>
        </p>
      )}
      <Checked work={work} onShow={show} />
      <div className="tabs" role="tablist" aria-label={say("menu.editor")}>
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
              (name === "screens" || name === "drawing")
            }
            onClick={() => setTab(name)}
          >
            {say(titles[name])}
            {name === "changes" && work.isChanged && (
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
          <h2 className="visually-hidden">{say(titles[shown])}</h2>
          {draft.parts.length > 1 && (shown === "screens" || shown === "drawing") && (
            <label className="small">
              {say("operator.menu")}
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
          {shown === "screens" && menu && (
            <Screens work={work} at={at} menu={menu} selected={selected} onSelect={setSelected} />
          )}
          {shown === "drawing" && menu && (
            <MenuDrawing
              graph={graphOf(menu)}
              onEdit={(id) => {
                setSelected(`screens.${id}`);
                setTab("screens");
              }}
            />
          )}
          {shown === "text" && <TextTab work={work} />}
          {shown === "changes" && <ChangesView work={work} onDone={() => setTab("history")} />}
          {shown === "history" && <HistoryView work={work} />}
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
            setTab("screens");
          }}
        />
      </div>
    </div>
  );
}

/** What callers get now, in words. */
function liveWords({ readOnly, where, version, author }: Live): string {
  if (readOnly) return where ? say("menu.fromWhere", { where }) : say("menu.fromSettings");
  if (!version) return say("menu.builtInLive");
  return author
    ? say("menu.liveBy", { version: String(version), author })
    : say("menu.liveBySomebody", { version: String(version) });
}

function partName(menu: Tree): string {
  if (menu.shared !== undefined) return say("menu.shared", { name: wordOf(menu.shared) });
  const name = wordOf(menu.name);
  const codes = listOf(menu.codes).map(wordOf);
  return codes.length > 0
    ? say("menu.withCodes", { name, codes: list(codes) })
    : say("menu.withOtherCodes", { name });
}

/** What the check says, with the way to each place. */
function Checked({ work, onShow }: { work: DraftWork; onShow: (issue: Issue) => void }) {
  const issues = work.draft?.issues ?? [];
  return (
    <div className="menu-checked" role="status">
      {work.isWaiting ? (
        <p className="small soft">{say("menu.checking")}</p>
      ) : issues.length === 0 ? (
        <p className="small good">{say(work.isChanged ? "menu.passesPublish" : "menu.passes")}</p>
      ) : (
        <details open={issues.length < 4}>
          <summary className="bad">{say("menu.found", { count: issues.length })}</summary>
          <ul className="plain">
            {issues.slice(0, 50).map((issue, i) => (
              <li key={i}>
                <button type="button" className="link" dir="auto" onClick={() => onShow(issue)}>
                  {issue.path ?? say("menu.line", { line: String(issue.line) })}
                </button>{" "}
                <span className="small" dir="auto">
                  {issue.message}
                </span>
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
      {draft.plain && <p className="notice">{say("menu.textAlone", { why: draft.plain })}</p>}
      <label>
        {say("menu.asText")}
        <textarea
          className="mono menu-source"
          dir="auto"
          spellCheck={false}
          value={draft.text}
          onChange={(event) => work.setText(event.target.value)}
        />
      </label>
      {draft.issues.length > 0 && (
        <ul className="plain small bad">
          {draft.issues.slice(0, 20).map((issue, i) => (
            <li key={i}>
              {say("menu.lineSays", { line: String(issue.line), message: issue.message })}
            </li>
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
            <span dir="auto">{name}</span>{" "}
            <span className="small soft" dir="auto">
              {more}
            </span>
          </span>
          {faults > 0 && <span className="badge low">{say("menu.faults", { count: faults })}</span>}
        </button>
      </li>
    );
  };
  return (
    <div className="menu-screens">
      <nav aria-label={say("menu.screensOfMenu")} className="stack">
        <label className="small">
          {say("menu.findScreen")}
          <input type="search" value={wanted} onChange={(event) => setWanted(event.target.value)} />
        </label>
        <ul className="plain menu-list">
          {entry("", say("menu.wholeMenu"), say("menu.wholeMenuHas"))}
          {entries("screens").map(([name, one]) =>
            entry(`screens.${name}`, name, firstLine(treeOf(one), language)),
          )}
          {entries("actions").map(([name, one]) =>
            entry(`actions.${name}`, name, say("menu.stepRuns", { run: wordOf(treeOf(one).run) })),
          )}
        </ul>
        <Adding
          label={say("menu.newScreen")}
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
          label={say("menu.newStep")}
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
        aria-label={isThere ? id : say("menu.wholeMenu")}
      >
        {!isThere && <WholeForm editing={editing} />}
        {isThere && kind === "screens" && <ScreenForm editing={editing} id={id} />}
        {isThere && kind === "actions" && <ActionForm editing={editing} id={id} />}
      </div>
    </div>
  );
}
