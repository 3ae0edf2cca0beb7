import { useState } from "react";
import { plural } from "../../shell/format";
import { Icon } from "../../shell/icons";
import type { Files } from "./api";

/** A file that went to the trash just now. */
export interface Trashed {
  id: string;
  name: string;
}

/** Says what went to the trash, and brings it back. It stays until something else is done. */
export function UndoTrash(props: {
  trashed: Trashed[];
  files: Files;
  onUndone: () => void;
  onClose: () => void;
  onError: (cause: unknown) => void;
}) {
  const { trashed, files } = props;
  const [isBusy, setBusy] = useState(false);
  async function undo() {
    setBusy(true);
    for (const { id } of trashed) await files.restore(id);
  }
  return (
    <div className="undo" role="status">
      <span className="path-cell">
        {trashed.length === 1 ? trashed[0]?.name : plural(trashed.length, "file")} moved to the
        trash.
      </span>
      <button
        type="button"
        disabled={isBusy}
        onClick={() => void undo().then(props.onUndone, props.onError)}
      >
        <Icon name="restore" /> Undo
      </button>
      <button type="button" className="quiet" aria-label="Dismiss" onClick={props.onClose}>
        <Icon name="close" />
      </button>
    </div>
  );
}
