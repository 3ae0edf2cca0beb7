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
import { say } from "../../words";

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
          <Icon name="download" /> {say("files.download")}
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
          <Icon name="share" /> {say("files.share")}
        </button>
        <button
          type="button"
          aria-label={say("files.moveOrRename")}
          title={say("files.moveOrRename")}
          onClick={() => setMoving(true)}
        >
          <Icon name="folder" /> {say("files.move")}
        </button>
      </div>
      <Problem error={restoring.error || saving.error || error} />
      <dl className="facts">
        <dt>{say("files.folder")}</dt>
        <dd>{file.path.slice(1, -file.name.length - 1) || say("files.allFiles")}</dd>
        <dt>{say("files.kind")}</dt>
        <dd>
          {say("files.kindAndSize", {
            kind: file.mimeType,
            size: bytes(version?.size ?? file.size),
          })}
        </dd>
        <dt>{say("files.cid")}</dt>
        <dd className="mono with-copy">
          <span>{version?.cid ?? file.cid}</span>
          <CopyButton text={version?.cid ?? file.cid} label={say("files.copyCid")} />
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
      <h3>{say("files.versions")}</h3>
      {!versions && !error && <Skeleton lines={2} label={say("files.readingVersions")} />}
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
                {say("files.version", { version: String(v.version) })}
                {v.version === file.version && <span className="badge">{say("files.newest")}</span>}
                <span className="soft small block">
                  {ago(v.createdAt)} · {bytes(v.size)}
                  {v.actor || v.invoker ? byWhom(v.actor || v.invoker, files.owner) : ""}
                </span>
              </span>
            </button>
            {v.version !== file.version && isCompared(v.size) && (
              <button
                type="button"
                aria-label={say("files.compareWith", { version: String(v.version) })}
                onClick={() => setCompared(v.version)}
              >
                <Icon name="copy" /> <span className="wide-only">{say("files.compare")}</span>
              </button>
            )}
            {v.version !== file.version && (
              <button
                type="button"
                aria-label={say("files.restoreVersion", { version: String(v.version) })}
                onClick={() => restore(v.version)}
              >
                <Icon name="restore" /> <span className="wide-only">{say("files.restore")}</span>
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
          title={say("files.moveOrRename")}
          act={say("files.move")}
          field={{ label: say("files.newPath"), value: file.path }}
          onAct={move}
          onClose={() => setMoving(false)}
        />
      )}
    </Dialog>
  );
}

function byWhom(did: string, me: string): string {
  const who = did === me ? say("files.byYou") : say("files.byWhom", { who: short(did, 14) });
  return ` · ${who}`;
}
