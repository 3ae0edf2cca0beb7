import { useEffect, useId, useRef, type ReactNode, type RefObject } from "react";
import { Icon } from "./icons";
import { say } from "../words";

/**
 * A modal dialog: the browser keeps the focus inside and closes it on Escape.
 * However it goes, the focus is back where it was.
 */
export function Dialog(props: {
  title: ReactNode;
  onClose: () => void;
  children: ReactNode;
  actions?: ReactNode;
  size?: "small" | "wide";
  /** What has the focus first; otherwise the browser chooses. */
  initial?: RefObject<HTMLElement | null>;
}) {
  const { initial } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const opener = useRef<Element>(null);
  const heading = useId();
  useEffect(() => {
    const element = dialog.current;
    if (element && !element.open) {
      opener.current = document.activeElement;
      element.showModal();
      initial?.current?.focus();
    }
    // A dialog that is taken away while it is open takes the focus along.
    return () => {
      const { activeElement, body } = document;
      if (activeElement !== null && activeElement !== body) return;
      if (opener.current instanceof HTMLElement) opener.current.focus();
    };
  }, [initial]);
  return (
    <dialog
      ref={dialog}
      className={`sheet ${props.size ?? "small"}`}
      aria-labelledby={heading}
      // React passes on what a dialog inside says of itself.
      onClose={(event) => event.target === event.currentTarget && props.onClose()}
      onClick={(event) => {
        // The second click of two was meant for what opened the dialog.
        if (event.target === dialog.current && event.detail < 2) dialog.current.close();
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
              aria-label={say("shell.close")}
              title={say("shell.closeKey")}
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
