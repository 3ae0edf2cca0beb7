import { useEffect, useRef } from "react";
import { Icon } from "../../shell/icons";
import { say } from "../../words";

/** What cannot be taken back needs no longer to be read. */
const pause = 10_000;

/** Something that was done just now, and can be taken back; and what of it was not done. */
export interface Done {
  text: string;
  problem?: string;
  undo?: () => Promise<unknown>;
}

/** Says what was done, and takes it back. What can be taken back, or was not done, stays until something else is done. */
export function Notice(props: {
  done: Done;
  isBusy: boolean;
  onUndo: () => void;
  onClose: () => void;
}) {
  const { done, onClose } = props;
  const close = useRef(onClose);
  useEffect(() => {
    close.current = onClose;
  });
  useEffect(() => {
    if (done.undo || done.problem) return;
    const timer = setTimeout(() => close.current(), pause);
    return () => clearTimeout(timer);
  }, [done]);
  return (
    <div className="undo">
      <span className="path-cell">
        {done.text} {done.problem && <span className="bad">{done.problem}</span>}
      </span>
      {done.undo && (
        <button
          type="button"
          disabled={props.isBusy}
          title={say("files.undoKey")}
          onClick={props.onUndo}
        >
          <Icon name="restore" /> {say("files.undo")}
        </button>
      )}
      <button type="button" className="quiet" aria-label={say("files.dismiss")} onClick={onClose}>
        <Icon name="close" />
      </button>
    </div>
  );
}
