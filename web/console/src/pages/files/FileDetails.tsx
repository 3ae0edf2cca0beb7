import { useState } from "react";
import { useAsked, useDoing } from "../../shell/asked";
import { CopyButton } from "../../shell/CopyButton";
import { Dialog } from "../../shell/Dialog";
import { ago, bytes, short } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Problem } from "../../shell/Problem";
import { saveAs } from "../../shell/save";
import { Skeleton } from "../../shell/Skeleton";
import { AskDialog } from "./AskDialog";
import type { FileRecord, Files } from "./api";
import { CompareDialog, compareLimit } from "./CompareDialog";
import { kindOf } from "./kinds";
import { Preview } from "./Preview";
import type { Chosen } from "./ShareDialog";

/** One file: a preview, its versions, and what can be done with it. */
export function FileDetails(props: {
  file: FileRecord;
  files: Files;
  onClose: () => void;
  onShare: (chosen: Chosen) => void;
}) {
  const { files } = props;
  const { id } = props.file;
  const { data: file = props.file } = useAsked({
    queryKey: ["file", id],
    queryFn: () => files.file(id),
    initialData: props.file,
    staleTime: Infinity,
  });
  const { data: versions, error } = useAsked({
    queryKey: ["versions", id],
    queryFn: () => files.versions(id),
  });
  const restoring = useDoing([]);
  const saving = useDoing();
  const [shown, setShown] = useState<number>();
  const [moving, setMoving] = useState(false);
  const [compared, setCompared] = useState<number>();
  const kind = kindOf(file.mimeType, file.size, file.name);
  const isCompared = (size: number) =>
    (kind === "text" || kind === "table") && Math.max(size, file.size) <= compareLimit;
  const version = versions?.find((v) => v.version === (shown ?? file.version));

  const restore = (number: number) =>
    restoring.run(async () => {
      await files.restoreVersion(id, number);
      setShown(undefined);
    });
  async function move(to: string) {
    if (to !== file.path) await files.move(file.path, to);
  }
  return (
    <Dialog title={file.name} size="wide" onClose={props.onClose}>
      <div className="row file-acts">
        <button
          type="button"
          onClick={() => saving.run(async () => saveAs(await files.content(id, shown), file.name))}
        >
          <Icon name="download" /> Download
        </button>
        <button
          type="button"
          onClick={() =>
            props.onShare({
              kind: "files",
              cids: [version?.cid ?? file.cid],
              names: [file.name],
              // An address shows the newest version; an older one is content.
              paths: version && version.cid !== file.cid ? [] : [file.path],
            })
          }
        >
          <Icon name="share" /> Share
        </button>
        <button
          type="button"
          aria-label="Move or rename"
          title="Move or rename"
          onClick={() => setMoving(true)}
        >
          <Icon name="folder" /> Move
        </button>
      </div>
      <Problem error={restoring.error || saving.error || error} />
      <dl className="facts">
        <dt>Folder</dt>
        <dd>{file.path.slice(1, -file.name.length - 1) || "All files"}</dd>
        <dt>Kind</dt>
        <dd>
          {file.mimeType}, {bytes(version?.size ?? file.size)}
        </dd>
        <dt>CID</dt>
        <dd className="mono with-copy">
          <span>{version?.cid ?? file.cid}</span>
          <CopyButton text={version?.cid ?? file.cid} label="Copy the CID" />
        </dd>
      </dl>
      <Preview
        key={`${file.cid} ${shown ?? ""}`}
        name={file.name}
        mimeType={file.mimeType}
        size={version?.size ?? file.size}
        load={(limit) => files.content(id, shown, limit)}
        look={() => files.look(id, shown)}
      />
      <h3>Versions</h3>
      {!versions && !error && <Skeleton lines={2} label="Reading the versions" />}
      <ul className="plain versions">
        {versions?.map((v) => (
          <li key={v.version} className={v.version === (shown ?? file.version) ? "current" : ""}>
            <button
              type="button"
              className="quiet grow"
              aria-pressed={v.version === (shown ?? file.version)}
              onClick={() => setShown(v.version === file.version ? undefined : v.version)}
            >
              <Icon name="clock" />
              <span>
                Version {v.version}
                {v.version === file.version && <span className="badge">newest</span>}
                <span className="soft small block">
                  {ago(v.createdAt)} · {bytes(v.size)}
                  {v.actor || v.invoker ? byWhom(v.actor || v.invoker, files.owner) : ""}
                </span>
              </span>
            </button>
            {v.version !== file.version && isCompared(v.size) && (
              <button
                type="button"
                aria-label={`Compare version ${v.version} with the newest`}
                onClick={() => setCompared(v.version)}
              >
                <Icon name="copy" /> <span className="wide-only">Compare</span>
              </button>
            )}
            {v.version !== file.version && (
              <button
                type="button"
                aria-label={`Restore version ${v.version}`}
                onClick={() => restore(v.version)}
              >
                <Icon name="restore" /> <span className="wide-only">Restore</span>
              </button>
            )}
          </li>
        ))}
      </ul>
      {compared !== undefined && (
        <CompareDialog
          file={file}
          version={compared}
          files={files}
          onClose={() => setCompared(undefined)}
        />
      )}
      {moving && (
        <AskDialog
          title="Move or rename"
          act="Move"
          field={{ label: "New path", value: file.path }}
          onAct={move}
          onClose={() => setMoving(false)}
        />
      )}
    </Dialog>
  );
}

function byWhom(did: string, me: string): string {
  return did === me ? " · by you" : ` · by ${short(did, 14)}`;
}
