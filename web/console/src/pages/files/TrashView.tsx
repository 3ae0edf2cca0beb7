import { useEffect, useState } from "react";
import Confirm from "../../shell/Confirm";
import { bytes, plural } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { useKeptFocus } from "../../shell/keptFocus";
import { unlessGone } from "../../shell/late";
import { Skeleton } from "../../shell/Skeleton";
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
  const [doomed, setDoomed] = useState<FileRecord[]>();
  const table = useKeptFocus<HTMLElement>();
  useEffect(() => unlessGone(files.trash(), setList, onError), [files, round, onError]);
  return (
    <section {...table} className="card table" aria-busy={!list} aria-label="Trash">
      {!list && <Skeleton lines={4} label="Reading the trash" />}
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
            <button type="button" className="danger" onClick={() => setDoomed(list)}>
              Empty the trash
            </button>
          </div>
          <table>
            <thead>
              <tr>
                <th>Name</th>
                <th className="number wide-only">Size</th>
                <th>
                  <span className="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {list.map((file) => (
                <tr key={file.id}>
                  <td className="path-cell">{file.path.slice(1)}</td>
                  <td className="number wide-only">{bytes(file.size)}</td>
                  <td className="number">
                    <span className="row end nowrap">
                      <button
                        type="button"
                        aria-label={`Restore ${file.name}`}
                        title="Restore"
                        onClick={() => void files.restore(file.id).then(onChanged, onError)}
                      >
                        <Icon name="restore" /> <span className="wide-only">Restore</span>
                      </button>
                      <button
                        type="button"
                        className="quiet danger"
                        aria-label={`Destroy ${file.name}`}
                        title="Destroy"
                        onClick={() => setDoomed([file])}
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
      {doomed && (
        <Confirm
          title={doomed.length === 1 ? "Destroy this file?" : "Empty the trash?"}
          action="Destroy"
          onConfirm={() => void files.purge(doomed.map((f) => f.id)).then(onChanged, onError)}
          onClose={() => setDoomed(undefined)}
        >
          <span className="path-cell">
            {doomed.length === 1
              ? doomed[0]?.path.slice(1)
              : `All ${plural(doomed.length, "file")}`}
            , with every version and the keys. Nobody can bring that back.
          </span>
        </Confirm>
      )}
    </section>
  );
}
