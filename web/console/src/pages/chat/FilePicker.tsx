import { useEffect, useMemo, useState } from "react";
import { useSession } from "../../identity/session";
import { Dialog } from "../../shell/Dialog";
import { ago, bytes, messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Files, type FileRecord } from "../files/api";

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
  useEffect(() => {
    files.list().then(setList, (cause: unknown) => setError(messageOf(cause)));
  }, [files]);
  const shown = (list ?? []).filter((f) => f.path.toLowerCase().includes(filter.toLowerCase()));
  return (
    <Dialog title="Attach a file" onClose={props.onClose}>
      <div className="stack">
        <button
          type="button"
          className="wide"
          onClick={() => {
            props.onClose();
            props.onUpload();
          }}
        >
          <Icon name="upload" /> From this device
        </button>
        <label className="field-icon">
          <span className="visually-hidden">Search by name</span>
          <Icon name="search" />
          <input
            type="search"
            placeholder="Your files"
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
          />
        </label>
        {error && (
          <p role="alert" className="notice bad">
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
                <span className="grow">{file.path.slice(1)}</span>
                <span className="soft small">
                  {bytes(file.size)} · {ago(file.updatedAt)}
                </span>
              </button>
            </li>
          ))}
        </ul>
        {list && shown.length === 0 && <p className="soft small centre">No such files.</p>}
      </div>
    </Dialog>
  );
}
