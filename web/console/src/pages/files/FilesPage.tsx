import { useCallback, useEffect, useMemo, useRef, useState, type DragEvent } from "react";
import { useSession } from "../../identity/session";
import { Icon } from "../../shell/icons";
import { messageOf } from "../../shell/format";
import { go } from "../../shell/router";
import { Files, type FileRecord } from "./api";
import { droppedFiles, type Dropped } from "./dropped";
import { FileDetails } from "./FileDetails";
import { FolderView } from "./FolderView";
import "./files.css";
import { LinksView } from "./LinksView";
import { SearchView } from "./SearchView";
import { ShareDialog, type Chosen } from "./ShareDialog";
import { TrashView } from "./TrashView";
import { uploadFile } from "./upload";

interface Upload {
  path: string;
  share: number;
  error?: string;
  again?: () => void;
}

type View = "files" | "trash" | "links";

/** The user's files: encrypted at rest, addressed by content. */
export function FilesPage({ folder }: { folder: string }) {
  const session = useSession();
  const files = useMemo(() => new Files(session), [session]);
  const here = folder ? `/${folder.replace(/\/+$/, "")}` : "/";
  const [view, setView] = useState<View>("files");
  const [round, setRound] = useState(0);
  const [error, setError] = useState("");
  const [uploads, setUploads] = useState<Upload[]>([]);
  const [dragging, setDragging] = useState(false);
  const [selected, setSelected] = useState<FileRecord>();
  const [sharing, setSharing] = useState<Chosen>();
  const [query, setQuery] = useState("");
  const [search, setSearch] = useState("");
  const picker = useRef<HTMLInputElement>(null);

  const fail = useCallback((cause: unknown) => setError(messageOf(cause)), []);
  const changed = useCallback(() => {
    setError("");
    setRound((n) => n + 1);
  }, []);
  const open = useCallback(
    (path: string) => void files.stat(path).then(setSelected, fail),
    [files, fail],
  );
  useEffect(() => {
    const wanted = new URLSearchParams(location.search).get("open");
    if (wanted) open(wanted);
  }, [open]);

  async function add(chosen: Dropped[]) {
    const one = async ({ path, file }: Dropped) => {
      const target = `${here === "/" ? "" : here}/${path}`;
      const show = (change: Partial<Upload>) =>
        setUploads((all) => all.map((u) => (u.path === target ? { ...u, ...change } : u)));
      setUploads((all) => [...all.filter((u) => u.path !== target), { path: target, share: 0 }]);
      try {
        await uploadFile(files, target, file, { onProgress: (share) => show({ share }) });
        setUploads((all) => all.filter((u) => u.path !== target));
      } catch (cause) {
        show({ error: messageOf(cause), again: () => void add([{ path, file }]) });
      }
      changed();
    };
    // A few at a time: enough to fill the line, not to crowd it.
    const queue = [...chosen];
    const next = async (): Promise<void> => {
      const item = queue.shift();
      if (!item) return;
      await one(item);
      await next();
    };
    await Promise.all([next(), next(), next()]);
  }
  function drop(event: DragEvent) {
    event.preventDefault();
    setDragging(false);
    void droppedFiles(event.dataTransfer).then(add, fail);
  }
  const tab = (name: View, label: string) => (
    <button
      type="button"
      role="tab"
      aria-selected={view === name && !search}
      onClick={() => {
        setView(name);
        setSearch("");
        setQuery("");
      }}
    >
      {label}
    </button>
  );
  return (
    <div
      className={dragging ? "page files dragging" : "page files"}
      onDragOver={(event) => {
        event.preventDefault();
        setDragging(true);
      }}
      onDragLeave={(event) => {
        if (event.currentTarget === event.target) setDragging(false);
      }}
      onDrop={drop}
    >
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
            void add([...(event.target.files ?? [])].map((file) => ({ path: file.name, file })));
            event.target.value = "";
          }}
        />
      </header>
      <div className="files-bar">
        <div className="tabs" role="tablist" aria-label="What to show">
          {tab("files", "Files")}
          {tab("links", "Links")}
          {tab("trash", "Trash")}
        </div>
        <form
          role="search"
          onSubmit={(event) => {
            event.preventDefault();
            setSearch(query.trim());
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
      {error && (
        <p role="alert" className="notice bad">
          {error}
        </p>
      )}
      {uploads.length > 0 && (
        <ul className="plain card uploads" aria-label="Uploads">
          {uploads.map((u) => (
            <li key={u.path}>
              <div className="row spread">
                <span>{u.path.slice(1)}</span>
                {u.error ? (
                  <span className="row">
                    <span className="bad small">{u.error}</span>
                    <button type="button" onClick={u.again}>
                      Go on
                    </button>
                  </span>
                ) : (
                  <span className="soft small">{Math.round(u.share * 100)} %</span>
                )}
              </div>
              <progress value={u.share} aria-label={`Upload of ${u.path.slice(1)}`} />
            </li>
          ))}
        </ul>
      )}
      {search ? (
        <SearchView key={search} files={files} text={search} onOpen={open} />
      ) : view === "trash" ? (
        <TrashView files={files} round={round} onChanged={changed} onError={fail} />
      ) : view === "links" ? (
        <LinksView files={files} round={round} onChanged={changed} onError={fail} />
      ) : (
        <FolderView
          key={here}
          folder={here}
          files={files}
          round={round}
          onOpen={setSelected}
          onFolder={(path) => go(`files${path === "/" ? "" : path}`)}
          onShare={setSharing}
          onChanged={changed}
          onError={fail}
        />
      )}
      {selected && (
        <FileDetails
          key={selected.id}
          file={selected}
          files={files}
          onClose={() => setSelected(undefined)}
          onChanged={changed}
          onShare={(chosen) => {
            setSelected(undefined);
            setSharing(chosen);
          }}
        />
      )}
      {sharing && (
        <ShareDialog
          chosen={sharing}
          files={files}
          onClose={() => {
            setSharing(undefined);
            changed();
          }}
        />
      )}
      {dragging && <p className="drop-hint">Drop to store in {here}</p>}
    </div>
  );
}
