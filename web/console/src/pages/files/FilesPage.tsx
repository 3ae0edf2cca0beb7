import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { Icon } from "../../shell/icons";
import { Problem } from "../../shell/Problem";
import { go } from "../../shell/router";
import { useDrop } from "../../shell/useDrop";
import { useStaying } from "../../shell/useStaying";
import { Files, type FileRecord } from "./api";
import { ConflictDialog } from "./ConflictDialog";
import { chosenFiles, droppedFiles } from "./dropped";
import { FileDetails } from "./FileDetails";
import { FolderView, type Arrival, type Clip } from "./FolderView";
import "./files.css";
import { LinksView } from "./LinksView";
import { Notice, type Done } from "./Notice";
import { SearchView } from "./SearchView";
import { ShareDialog, type Chosen } from "./ShareDialog";
import { Thumbnails } from "./thumbnails";
import { TrashView } from "./TrashView";
import { UploadList } from "./UploadList";
import { within, type Ask, type Policy } from "./transfer";
import { useUploads, type Outcome } from "./uploads";
import { say, type Key } from "../../words";

const views = ["files", "links", "trash"] as const;

const titles: Record<View, Key> = {
  files: "files.title",
  links: "files.links",
  trash: "files.trash",
};

/** A search begins by itself with so many characters, so long after the last one. */
const fewest = 2;
const pause = 300;

type View = (typeof views)[number];

/** What becomes of names that are taken? */
interface Question {
  names: string[];
  answer: (policy: Policy | undefined) => void;
}

/** The user's files: encrypted at rest, addressed by content. */
export default function FilesPage({ folder }: { folder: string }) {
  const session = useSession();
  const files = useMemo(() => new Files(session), [session]);
  const here = folder ? `/${folder.replace(/\/+$/, "")}` : "/";
  const [view, setView] = useState<View>("files");
  const queries = useQueryClient();
  const opening = useDoing();
  const undoing = useDoing([]);
  const { run: takeBack } = undoing;
  const [selected, setSelected] = useState<FileRecord>();
  const [sharing, setSharing] = useState<Chosen>();
  const [query, setQuery] = useState("");
  const [search, setSearch] = useState("");
  const [done, setDone] = useState<Done>();
  const [clip, setClip] = useState<Clip>();
  const [arrival, setArrival] = useState<Arrival>();
  // One after the other: uploads and a move may both have one.
  const [questions, setQuestions] = useState<Question[]>([]);
  const [question] = questions;
  // Who stops writing for a moment has written enough to look for.
  useEffect(() => {
    const words = query.trim();
    if (words.length < fewest || words === search) return;
    const timer = setTimeout(() => setSearch(words), pause);
    return () => clearTimeout(timer);
  }, [query, search]);
  const picker = useRef<HTMLInputElement>(null);
  const folderPicker = useRef<HTMLInputElement>(null);

  const ask = useCallback<Ask>(
    (names) => new Promise((answer) => setQuestions((others) => [...others, { names, answer }])),
    [],
  );
  // Whoever leaves is asked no more; what was not answered is not done.
  const asked = useRef(questions);
  useEffect(() => {
    asked.current = questions;
  });
  useEffect(() => () => asked.current.forEach(({ answer }) => answer(undefined)), []);
  const [acts, setActs] = useState(0);
  const during = useCallback(async <T,>(work: () => Promise<T>) => {
    setActs((n) => n + 1);
    try {
      return await work();
    } finally {
      setActs((n) => n - 1);
    }
  }, []);
  const thumbnails = useMemo(() => new Thumbnails(files), [files]);
  useEffect(() => () => thumbnails.clear(), [thumbnails]);
  const stored = useCallback(() => void queries.invalidateQueries(), [queries]);
  const asking = useMemo(
    () => ({ ask, onEnd: (outcome: Outcome) => setDone(inWords(outcome)) }),
    [ask],
  );
  const { add, ...underway } = useUploads(files, stored, asking);
  const { run } = opening;
  useStaying(acts > 0 || underway.isBusy);
  const take = useCallback(
    (transfer: DataTransfer, folder: string) =>
      run(async () => {
        const empty: string[] = [];
        const found = await droppedFiles(transfer, (path) => empty.push(path));
        setView("files");
        setSearch("");
        setQuery("");
        add(found, folder);
        for (const path of empty) await files.makeFolder(within(folder, path));
        if (empty.length > 0) stored();
      }),
    [run, add, files, stored],
  );
  const drop = useCallback((transfer: DataTransfer) => take(transfer, here), [take, here]);
  const dragging = useDrop(drop);
  // What was asked for last is shown, whichever answer comes last.
  const wanted = useRef("");
  const open = useCallback(
    (path: string) => {
      wanted.current = path;
      run(async () => {
        const file = await files.stat(path);
        if (wanted.current === path) setSelected(file);
      });
    },
    [run, files],
  );
  const choose = useCallback((file: FileRecord | undefined) => {
    wanted.current = "";
    setSelected(file);
  }, []);
  useEffect(() => {
    const path = new URLSearchParams(location.search).get("open");
    if (path) open(path);
  }, [open]);

  function show(name: View) {
    setDone(undefined);
    setView(name);
    setSearch("");
    setQuery("");
    opening.forget();
    undoing.forget();
  }
  const undo = useCallback(
    () =>
      done?.undo &&
      takeBack(async () => {
        await done.undo?.();
        // What was done meanwhile stays said.
        setDone((now) => (now === done ? undefined : now));
      }),
    [done, takeBack],
  );
  // As anywhere, Ctrl+Z takes back what was done last.
  useEffect(() => {
    function onKey(event: globalThis.KeyboardEvent) {
      const isWriting =
        event.target instanceof HTMLInputElement && event.target.type !== "checkbox";
      if (!(event.ctrlKey || event.metaKey) || event.key !== "z" || isWriting) return;
      if (document.querySelector("dialog[open]")) return;
      event.preventDefault();
      undo();
    }
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [undo]);
  function walkTabs(event: KeyboardEvent<HTMLElement>) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = (views.indexOf(view) + step + views.length) % views.length;
    show(views[at] ?? "files");
    event.currentTarget.querySelectorAll<HTMLElement>("[role=tab]")[at]?.focus();
  }
  return (
    <div className="page files">
      <header className="page-head">
        <div>
          <h1>{say("files.title")}</h1>
          <p className="soft">{say("files.what")}</p>
        </div>
        <div className="row nowrap upload-buttons">
          <button
            type="button"
            aria-label={say("files.uploadFolder")}
            title={say("files.uploadFolder")}
            onClick={() => folderPicker.current?.click()}
          >
            <Icon name="folder" /> <span className="wide-only">{say("files.uploadFolder")}</span>
          </button>
          <button className="primary" type="button" onClick={() => picker.current?.click()}>
            <Icon name="upload" /> {say("files.upload")}
          </button>
        </div>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label={say("files.filesToUpload")}
          onChange={(event) => {
            add(chosenFiles(event.target.files ?? []), here);
            event.target.value = "";
          }}
        />
        <input
          ref={(input) => {
            folderPicker.current = input;
            if (input) input.webkitdirectory = true;
          }}
          type="file"
          hidden
          aria-label={say("files.folderToUpload")}
          onChange={(event) => {
            add(chosenFiles(event.target.files ?? []), here);
            event.target.value = "";
          }}
        />
      </header>
      <div className="files-bar">
        <div
          className="tabs"
          role="tablist"
          aria-label={say("files.whatToShow")}
          onKeyDown={walkTabs}
        >
          {views.map((name) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`tab-${name}`}
              aria-selected={view === name && !search}
              aria-controls="files-panel"
              tabIndex={view === name ? 0 : -1}
              onClick={() => show(name)}
            >
              {say(titles[name])}
            </button>
          ))}
        </div>
        <form
          role="search"
          onSubmit={(event) => {
            event.preventDefault();
            setSearch(query.trim());
            // Who asks again for the same words wants to know what is there now.
            void queries.invalidateQueries({ queryKey: ["search"] });
          }}
        >
          <label className="field-icon">
            <span className="visually-hidden">{say("files.search")}</span>
            <Icon name="search" />
            <input
              type="search"
              data-entry
              placeholder={say("files.search")}
              value={query}
              onChange={(event) => {
                setQuery(event.target.value);
                // What was found for other words is not shown for these.
                if (event.target.value.trim().length < fewest) setSearch("");
              }}
            />
          </label>
        </form>
      </div>
      <Problem error={opening.error || undoing.error} />
      <UploadList {...underway} />
      <div id="files-panel" role="tabpanel" aria-labelledby={`tab-${view}`}>
        {search ? (
          <SearchView files={files} text={search} onOpen={open} />
        ) : view === "trash" ? (
          <TrashView files={files} onDone={setDone} />
        ) : view === "links" ? (
          <LinksView files={files} />
        ) : (
          <FolderView
            key={here}
            folder={here}
            files={files}
            thumbnails={thumbnails}
            arrival={arrival}
            clip={clip}
            ask={ask}
            during={during}
            onOpen={choose}
            onFolder={(path, from) => {
              setArrival(from);
              go(
                path === "/"
                  ? "files"
                  : `files${path.split("/").map(encodeURIComponent).join("/")}`,
              );
            }}
            onShare={setSharing}
            onClip={setClip}
            onDone={setDone}
            onFiles={take}
          />
        )}
      </div>
      {/* It is always there: what comes into it is read out. */}
      <div className="notice-place" role="status">
        {done && (
          <Notice
            done={done}
            isBusy={undoing.isBusy}
            onUndo={undo}
            onClose={() => setDone(undefined)}
          />
        )}
      </div>
      {question && (
        <ConflictDialog
          key={question.names.join("/")}
          names={question.names}
          onAnswer={(policy) => {
            setQuestions((all) => all.filter((one) => one !== question));
            question.answer(policy);
          }}
        />
      )}
      {selected && (
        <FileDetails
          key={selected.id}
          file={selected}
          files={files}
          onClose={() => choose(undefined)}
          onShare={(chosen) => {
            choose(undefined);
            setSharing(chosen);
          }}
        />
      )}
      {sharing && (
        <ShareDialog chosen={sharing} files={files} onClose={() => setSharing(undefined)} />
      )}
      {dragging && (
        <div className="drop-here">
          <p>
            <Icon name="upload" />{" "}
            {here === "/" ? say("files.dropToAll") : say("files.dropTo", { folder: here.slice(1) })}
          </p>
        </div>
      )}
    </div>
  );
}

/** What became of uploads. */
function inWords({ stored, skipped, failed, stopped }: Outcome): Done {
  const left = [
    skipped > 0 && say("files.leftOut", { n: skipped }),
    stopped > 0 && say("files.stopped", { n: stopped }),
  ];
  return {
    text: [say("files.stored", { n: stored }), ...left].filter(Boolean).join(" "),
    ...(failed > 0 ? { problem: say("files.notStored", { n: failed }) } : {}),
  };
}
