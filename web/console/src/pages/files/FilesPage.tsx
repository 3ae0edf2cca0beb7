import { useCallback, useEffect, useMemo, useRef, useState, type DragEvent } from "react";
import { useSession } from "../../identity/session";
import { CopyButton } from "../../shell/CopyButton";
import { Icon } from "../../shell/icons";
import { Files, type FileRecord, type SearchHit } from "./api";
import { FileDetails } from "./FileDetails";

function bytes(n: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return `${n < 10 && i > 0 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

/** The user's files: encrypted at rest, addressed by content. */
export function FilesPage() {
  const session = useSession();
  const files = useMemo(() => new Files(session), [session]);
  const [view, setView] = useState<"files" | "trash">("files");
  const [list, setList] = useState<FileRecord[]>();
  const [error, setError] = useState("");
  const [uploads, setUploads] = useState<Record<string, number>>({});
  const [selected, setSelected] = useState<FileRecord>();
  const [query, setQuery] = useState("");
  const [hits, setHits] = useState<SearchHit[]>();
  const picker = useRef<HTMLInputElement>(null);

  const fail = useCallback((cause: unknown) => {
    setError(cause instanceof Error ? cause.message : String(cause));
  }, []);
  const reload = useCallback(async () => {
    try {
      setList(await (view === "files" ? files.list() : files.trash()));
      setError("");
    } catch (cause) {
      fail(cause);
    }
  }, [files, view, fail]);
  useEffect(() => {
    // eslint-disable-next-line react-hooks/set-state-in-effect -- the list lives at the server
    void reload();
  }, [reload]);

  async function add(chosen: Iterable<File>) {
    for (const file of chosen) {
      try {
        await files.upload(`/${file.name}`, file, (share) =>
          setUploads((all) => ({ ...all, [file.name]: share })),
        );
      } catch (cause) {
        fail(cause);
      }
      setUploads((all) =>
        Object.fromEntries(Object.entries(all).filter(([name]) => name !== file.name)),
      );
    }
    await reload();
  }
  function drop(event: DragEvent) {
    event.preventDefault();
    void add(event.dataTransfer.files);
  }
  return (
    <div className="page" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <div className="row spread">
        <div>
          <h1>Files</h1>
          <p className="soft">Encrypted before they are stored. Drop files here to add them.</p>
        </div>
        <div className="row">
          <button type="button" onClick={() => setView(view === "files" ? "trash" : "files")}>
            <Icon name={view === "files" ? "trash" : "files"} />
            {view === "files" ? "Trash" : "Files"}
          </button>
          <button className="primary" type="button" onClick={() => picker.current?.click()}>
            <Icon name="upload" /> Upload
          </button>
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            aria-label="Files to upload"
            onChange={(event) => void add(event.target.files ?? [])}
          />
        </div>
      </div>
      <form
        role="search"
        className="row search"
        onSubmit={(event) => {
          event.preventDefault();
          if (query.trim() === "") setHits(undefined);
          else files.search(query).then(setHits, fail);
        }}
      >
        <label className="visually-hidden" htmlFor="search">
          Search in your files
        </label>
        <input
          id="search"
          type="search"
          placeholder="Search in your files"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
      </form>
      {error && (
        <p role="alert" className="notice bad">
          {error}
        </p>
      )}
      {Object.entries(uploads).map(([name, share]) => (
        <label key={name}>
          {name}
          <progress value={share} />
        </label>
      ))}
      {hits && (
        <section className="card" aria-label="Search results">
          {hits.length === 0 && (
            <p className="soft">Nothing found. New files take a moment to be indexed.</p>
          )}
          {hits.map((hit, i) => (
            <p key={i}>
              <strong>{hit.path}</strong>
              {hit.startLine !== undefined && <span className="soft"> line {hit.startLine}</span>}
              {hit.snippet && <code className="hit">{hit.snippet}</code>}
            </p>
          ))}
        </section>
      )}
      <section className="card table" aria-busy={!list}>
        {list?.length === 0 ? (
          <p className="soft centre">
            {view === "files" ? "No files yet." : "The trash is empty."}
          </p>
        ) : (
          <table>
            <thead>
              <tr>
                <th>Name</th>
                <th className="number">Size</th>
                <th className="wide-only">Version</th>
                <th className="wide-only">CID</th>
                <th>
                  <span className="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {list?.map((file) => (
                <tr key={file.id}>
                  <td>
                    <button type="button" className="quiet name" onClick={() => setSelected(file)}>
                      {file.path.slice(1)}
                    </button>
                  </td>
                  <td className="number">{bytes(file.size)}</td>
                  <td className="wide-only">{file.version}</td>
                  <td className="wide-only mono">
                    {file.cid.slice(0, 10)}…{file.cid.slice(-4)}
                    <CopyButton text={file.cid} label={`Copy the CID of ${file.name}`} />
                  </td>
                  <td className="number">
                    {view === "files" ? (
                      <button
                        type="button"
                        className="quiet"
                        aria-label={`Move ${file.name} to the trash`}
                        onClick={() => void files.remove(file.id).then(reload, fail)}
                      >
                        <Icon name="trash" />
                      </button>
                    ) : (
                      <button
                        type="button"
                        onClick={() =>
                          void files.post(`/files/${file.id}/restore`).then(reload, fail)
                        }
                      >
                        Restore
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
      {selected && (
        <FileDetails
          key={selected.id}
          file={selected}
          files={files}
          onClose={() => setSelected(undefined)}
          onChanged={() => void reload()}
        />
      )}
    </div>
  );
}
