import { useRef, type ReactNode } from "react";
import { Dialog } from "./Dialog";
import { say } from "../words";

/** Asks before something that cannot be taken back. Escape, and Enter by habit, change nothing. */
export default function Confirm(props: {
  title: string;
  children: ReactNode;
  /** What the button that does it says. */
  action: string;
  onConfirm: () => void;
  onClose: () => void;
}) {
  const cancel = useRef<HTMLButtonElement>(null);
  return (
    <Dialog title={props.title} onClose={props.onClose} initial={cancel}>
      <p>{props.children}</p>
      <div className="row end">
        <button ref={cancel} type="button" onClick={props.onClose}>
          {say("shell.cancel")}
        </button>
        <button
          type="button"
          className="danger"
          onClick={() => {
            props.onClose();
            props.onConfirm();
          }}
        >
          {props.action}
        </button>
      </div>
    </Dialog>
  );
}
