import { useState } from "react";
import { useAsked, useDoing } from "../../shell/asked";
import Confirm from "../../shell/Confirm";
import { bytes } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import type { FileRecord, Files } from "./api";
import type { Done } from "./Notice";
import { isTaken, untilFree } from "./transfer";
import { say } from "../../words";

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
        onDone({ text: say("files.backAs", { name: file.name, path: path.slice(1) }) });
      }
    });
  return (
    <section
      {...table}
      className="card table"
      aria-busy={!list && !error}
      aria-label={say("files.trash")}
    >
      <Problem error={refusal || error} />
      {!list && !error && <Skeleton lines={4} label={say("files.readingTrash")} />}
      {list?.length === 0 && (
        <div className="nothing">
          <Icon name="trash" />
          <p>{say("files.trashEmpty")}</p>
        </div>
      )}
      {list && list.length > 0 && (
        <>
          <div className="row spread table-head">
            <p className="soft small">{say("files.comeBack")}</p>
            <button type="button" className="danger" onClick={() => setDoomed(list)}>
              {data?.isCut
                ? say("files.destroyThese", { n: list.length })
                : say("files.emptyTrash")}
            </button>
          </div>
          <table>
            <thead>
              <tr>
                <th>{say("files.name")}</th>
                <th className="number wide-only">{say("files.size")}</th>
                <th>
                  <span className="visually-hidden">{say("files.actions")}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {list.map((file) => (
                <tr key={file.id}>
                  <td className="path-cell" dir="auto">
                    {file.path.slice(1)}
                  </td>
                  <td className="number wide-only">{bytes(file.size)}</td>
                  <td className="number">
                    <span className="row end nowrap">
                      <button
                        type="button"
                        aria-label={say("files.restoreOne", { name: file.name })}
                        title={say("files.restore")}
                        onClick={() => restore(file)}
                      >
                        <Icon name="restore" />{" "}
                        <span className="wide-only">{say("files.restore")}</span>
                      </button>
                      <button
                        type="button"
                        className="quiet danger"
                        aria-label={say("files.destroyOne", { name: file.name })}
                        title={say("files.destroy")}
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
          {data?.isCut && <p className="soft small table-head">{say("files.moreTrash")}</p>}
        </>
      )}
      {doomed && (
        <Confirm
          title={
            doomed.length === 1
              ? say("files.destroyFileAsk")
              : data?.isCut
                ? say("files.destroyTheseAsk")
                : say("files.emptyTrashAsk")
          }
          action={say("files.destroy")}
          onConfirm={() => run(() => files.purge(doomed.map((f) => f.id)))}
          onClose={() => setDoomed(undefined)}
        >
          <span className="path-cell">
            {say("files.destroyed", {
              what:
                doomed.length === 1
                  ? (doomed[0]?.path.slice(1) ?? "")
                  : say("files.allOf", { n: doomed.length }),
            })}
          </span>
        </Confirm>
      )}
    </section>
  );
}
