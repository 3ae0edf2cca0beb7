import { plural } from "../../shell/format";
import { Icon } from "../../shell/icons";

/** A file that went to the trash just now. */
export interface Trashed {
  id: string;
  name: string;
}

/** Says what went to the trash, and brings it back. It stays until something else is done. */
export function UndoTrash(props: {
  trashed: Trashed[];
  isBusy: boolean;
  onUndo: () => void;
  onClose: () => void;
}) {
  const { trashed } = props;
  return (
    <div className="undo" role="status">
      <span className="path-cell">
        {trashed.length === 1 ? trashed[0]?.name : plural(trashed.length, "file")} moved to the
        trash.
      </span>
      <button type="button" disabled={props.isBusy} onClick={props.onUndo}>
        <Icon name="restore" /> Undo
      </button>
      <button type="button" className="quiet" aria-label="Dismiss" onClick={props.onClose}>
        <Icon name="close" />
      </button>
    </div>
  );
}
