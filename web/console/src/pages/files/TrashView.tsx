import { useEffect, useState } from "react";
import { bytes } from "../../shell/format";
import { Icon } from "../../shell/icons";
import type { FileRecord, Files } from "./api";

/** What was thrown away and can come back, or be destroyed. */
export function TrashView(props: {
  files: Files;
  round: number;
  onChanged: () => void;
  onError: (cause: unknown) => void;
}) {
  const { files, round, onChanged, onError } = props;
  const [list, setList] = useState<FileRecord[]>();
  useEffect(() => {
    let gone = false;
    files.trash().then((all) => {
      if (!gone) setList(all);
    }, onError);
    return () => {
      gone = true;
    };
  }, [files, round, onError]);
  function purge(some: FileRecord[]) {
    const what = some.length === 1 ? `“${some[0]?.name ?? ""}”` : `all ${some.length} files`;
    if (!confirm(`Destroy ${what}, every version and the keys? Nobody can bring that back.`))
      return;
    files.purge(some.map((f) => f.id)).then(onChanged, onError);
  }
  return (
    <section className="card table" aria-busy={!list} aria-label="Trash">
      {list?.length === 0 && (
        <div className="nothing">
          <Icon name="trash" />
          <p>The trash is empty.</p>
        </div>
      )}
      {list && list.length > 0 && (
        <>
          <div className="row spread table-head">
            <p className="soft small">Thrown-away files come back with all their versions.</p>
            <button type="button" className="danger" onClick={() => purge(list)}>
              Empty the trash
            </button>
          </div>
          <table>
            <tbody>
              {list.map((file) => (
                <tr key={file.id}>
                  <td className="path-cell">{file.path.slice(1)}</td>
                  <td className="number wide-only">{bytes(file.size)}</td>
                  <td className="number">
                    <span className="row end">
                      <button
                        type="button"
                        aria-label={`Restore ${file.name}`}
                        onClick={() => void files.restore(file.id).then(onChanged, onError)}
                      >
                        <Icon name="restore" /> Restore
                      </button>
                      <button
                        type="button"
                        className="quiet danger"
                        aria-label={`Destroy ${file.name}`}
                        onClick={() => purge([file])}
                      >
                        <Icon name="close" />
                      </button>
                    </span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </section>
  );
}
