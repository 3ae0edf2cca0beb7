import { useState } from "react";
import { useAsked, useDoing } from "../../shell/asked";
import Confirm from "../../shell/Confirm";
import { bytes, plural } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import type { FileRecord, Files } from "./api";
import type { Done } from "./Notice";
import { isTaken, untilFree } from "./transfer";

/** What was thrown away and can come back, or be destroyed. */
export function TrashView({ files, onDone }: { files: Files; onDone: (done: Done) => void }) {
  const { data, error } = useAsked({ queryKey: ["trash"], queryFn: () => files.trash() });
  const list = data?.list;
  const { run, error: refusal } = useDoing([]);
  const [doomed, setDoomed] = useState<FileRecord[]>();
  const table = useKeptFocus<HTMLElement>();
  const restore = (file: FileRecord) =>
    run(async () => {
      try {
        await files.restore([file.id]);
      } catch (cause) {
        if (!isTaken(cause)) throw cause;
        // Something has its name now, and keeps it.
        const path = await untilFree(file.path, (path) => files.restoreTo(file.id, path));
        onDone({ text: `${file.name} is back as ${path.slice(1)}: its name is taken.` });
      }
    });
  return (
    <section {...table} className="card table" aria-busy={!list && !error} aria-label="Trash">
      <Problem error={refusal || error} />
      {!list && !error && <Skeleton lines={4} label="Reading the trash" />}
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
              {data?.isCut ? `Destroy these ${plural(list.length, "file")}` : "Empty the trash"}
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
                        onClick={() => restore(file)}
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
          {data?.isCut && (
            <p className="soft small table-head">There is more, which is not shown.</p>
          )}
        </>
      )}
      {doomed && (
        <Confirm
          title={
            doomed.length === 1
              ? "Destroy this file?"
              : data?.isCut
                ? "Destroy these files?"
                : "Empty the trash?"
          }
          action="Destroy"
          onConfirm={() => run(() => files.purge(doomed.map((f) => f.id)))}
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
