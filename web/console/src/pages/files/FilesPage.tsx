import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { Icon } from "../../shell/icons";
import { Problem } from "../../shell/Problem";
import { go } from "../../shell/router";
import { useDrop } from "../../shell/useDrop";
import { Files, type FileRecord } from "./api";
import { droppedFiles } from "./dropped";
import { FileDetails } from "./FileDetails";
import { FolderView } from "./FolderView";
import "./files.css";
import { LinksView } from "./LinksView";
import { SearchView } from "./SearchView";
import { ShareDialog, type Chosen } from "./ShareDialog";
import { TrashView } from "./TrashView";
import { UndoTrash, type Trashed } from "./UndoTrash";
import { UploadList } from "./UploadList";
import { useUploads } from "./uploads";

const views = ["Files", "Links", "Trash"] as const;

/** A search begins by itself with so many characters, so long after the last one. */
const fewest = 2;
const pause = 300;

type View = (typeof views)[number];

/** The user's files: encrypted at rest, addressed by content. */
export default function FilesPage({ folder }: { folder: string }) {
  const session = useSession();
  const files = useMemo(() => new Files(session), [session]);
  const here = folder ? `/${folder.replace(/\/+$/, "")}` : "/";
  const [view, setView] = useState<View>("Files");
  const queries = useQueryClient();
  const opening = useDoing();
  const undoing = useDoing([]);
  const [selected, setSelected] = useState<FileRecord>();
  const [sharing, setSharing] = useState<Chosen>();
  const [query, setQuery] = useState("");
  const [search, setSearch] = useState("");
  const [trashed, setTrashed] = useState<Trashed[]>([]);
  // Who stops writing for a moment has written enough to look for.
  useEffect(() => {
    const words = query.trim();
    if (words.length < fewest || words === search) return;
    const timer = setTimeout(() => setSearch(words), pause);
    return () => clearTimeout(timer);
  }, [query, search]);
  const picker = useRef<HTMLInputElement>(null);

  const stored = useCallback(() => void queries.invalidateQueries(), [queries]);
  const { uploads, waiting, add } = useUploads(files, stored);
  const { run } = opening;
  const drop = useCallback(
    (transfer: DataTransfer) =>
      run(async () => {
        const found = await droppedFiles(transfer);
        setView("Files");
        setSearch("");
        add(found, here);
      }),
    [run, add, here],
  );
  const dragging = useDrop(drop);
  const open = useCallback(
    (path: string) => run(async () => setSelected(await files.stat(path))),
    [run, files],
  );
  useEffect(() => {
    const wanted = new URLSearchParams(location.search).get("open");
    if (wanted) open(wanted);
  }, [open]);

  function show(name: View) {
    setTrashed([]);
    setView(name);
    setSearch("");
    setQuery("");
    opening.forget();
    undoing.forget();
  }
  const undo = () =>
    undoing.run(async () => {
      for (const { id } of trashed) await files.restore(id);
      setTrashed([]);
    });
  function walkTabs(event: KeyboardEvent<HTMLElement>) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = (views.indexOf(view) + step + views.length) % views.length;
    show(views[at] ?? "Files");
    event.currentTarget.querySelectorAll<HTMLElement>("[role=tab]")[at]?.focus();
  }
  return (
    <div className="page files">
      <header className="page-head">
        <div>
          <h1>Files</h1>
          <p className="soft">Encrypted before they are stored, addressed by their content.</p>
        </div>
        <button className="primary" type="button" onClick={() => picker.current?.click()}>
          <Icon name="upload" /> Upload
        </button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files to upload"
          onChange={(event) => {
            const chosen = [...(event.target.files ?? [])];
            add(
              chosen.map((file) => ({ path: file.name, file })),
              here,
            );
            event.target.value = "";
          }}
        />
      </header>
      <div className="files-bar">
        <div className="tabs" role="tablist" aria-label="What to show" onKeyDown={walkTabs}>
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
              {name}
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
            <span className="visually-hidden">Search in your files</span>
            <Icon name="search" />
            <input
              type="search"
              data-entry
              placeholder="Search in your files"
              value={query}
              onChange={(event) => {
                setQuery(event.target.value);
                if (event.target.value === "") setSearch("");
              }}
            />
          </label>
        </form>
      </div>
      <Problem error={opening.error || undoing.error} />
      <UploadList uploads={uploads} waiting={waiting} />
      <div id="files-panel" role="tabpanel" aria-labelledby={`tab-${view}`}>
        {search ? (
          <SearchView files={files} text={search} onOpen={open} />
        ) : view === "Trash" ? (
          <TrashView files={files} />
        ) : view === "Links" ? (
          <LinksView files={files} />
        ) : (
          <FolderView
            key={here}
            folder={here}
            files={files}
            onOpen={setSelected}
            onFolder={(path) => go(`files${path.split("/").map(encodeURIComponent).join("/")}`)}
            onShare={setSharing}
            onTrashed={setTrashed}
          />
        )}
      </div>
      {trashed.length > 0 && (
        <UndoTrash
          key={trashed[0]?.id}
          trashed={trashed}
          isBusy={undoing.isBusy}
          onUndo={undo}
          onClose={() => setTrashed([])}
        />
      )}
      {selected && (
        <FileDetails
          key={selected.id}
          file={selected}
          files={files}
          onClose={() => setSelected(undefined)}
          onShare={(chosen) => {
            setSelected(undefined);
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
            <Icon name="upload" /> Drop to store in {here === "/" ? "your files" : here.slice(1)}
          </p>
        </div>
      )}
    </div>
  );
}
