import { useEffect, useMemo, useRef, useState } from "react";
import { useSession } from "../../identity/session";
import { Dialog } from "../../shell/Dialog";
import { ago, bytes, messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Files, type FileRecord } from "../files/api";
import { say } from "../../words";

/** Picks one of the user's files, or a new one from the device. */
export function FilePicker(props: {
  onClose: () => void;
  onPick: (file: FileRecord) => void;
  onUpload: () => void;
}) {
  const session = useSession();
  const files = useMemo(() => new Files(session), [session]);
  const [list, setList] = useState<FileRecord[]>();
  const [filter, setFilter] = useState("");
  const [error, setError] = useState("");
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    files.list().then(setList, (cause: unknown) => setError(messageOf(cause)));
  }, [files]);
  const shown = (list ?? []).filter((f) => f.path.toLowerCase().includes(filter.toLowerCase()));
  return (
    <Dialog title={say("conversation.attach")} onClose={props.onClose} initial={first}>
      <div className="stack">
        <button
          ref={first}
          type="button"
          className="wide"
          onClick={() => {
            props.onClose();
            props.onUpload();
          }}
        >
          <Icon name="upload" /> {say("conversation.fromDevice")}
        </button>
        <label className="field-icon">
          <span className="visually-hidden">{say("conversation.searchByName")}</span>
          <Icon name="search" />
          <input
            type="search"
            placeholder={say("conversation.yourFiles")}
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
          />
        </label>
        {error && (
          <p role="alert" className="notice bad" dir="auto">
            {error}
          </p>
        )}
        <ul className="plain pick-list" aria-busy={!list && !error}>
          {shown.slice(0, 100).map((file) => (
            <li key={file.id}>
              <button
                type="button"
                className="quiet wide"
                onClick={() => {
                  props.onPick(file);
                  props.onClose();
                }}
              >
                <Icon name={file.mimeType.startsWith("image/") ? "image" : "file"} />
                <span className="grow">
                  <span className="picked-name" dir="auto">
                    {file.name}
                  </span>
                  <span className="soft small">
                    <span dir="auto">{file.path.slice(0, -file.name.length)}</span> ·{" "}
                    {bytes(file.size)} · {ago(file.updatedAt)}
                  </span>
                </span>
              </button>
            </li>
          ))}
        </ul>
        {list && shown.length === 0 && (
          <p className="soft small centre">{say("conversation.noSuchFiles")}</p>
        )}
      </div>
    </Dialog>
  );
}
