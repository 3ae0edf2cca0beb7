import { useEffect, useId, useRef, type ReactNode } from "react";
import { Icon } from "./icons";

/**
 * A modal dialog: the browser keeps the focus inside, closes it on Escape and
 * gives the focus back.
 */
export function Dialog(props: {
  title: ReactNode;
  onClose: () => void;
  children: ReactNode;
  actions?: ReactNode;
  size?: "small" | "wide";
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const element = dialog.current;
    if (element && !element.open) element.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={`sheet ${props.size ?? "small"}`}
      aria-labelledby={heading}
      onClose={props.onClose}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current.close();
      }}
    >
      <div className="sheet-body">
        <header className="sheet-head">
          <h2 id={heading}>{props.title}</h2>
          <div className="row">
            {props.actions}
            <button
              type="button"
              className="quiet"
              aria-label="Close"
              title="Close (Esc)"
              onClick={() => dialog.current?.close()}
            >
              <Icon name="close" />
            </button>
          </div>
        </header>
        {props.children}
      </div>
    </dialog>
  );
}
