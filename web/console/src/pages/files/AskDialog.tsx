import { useEffect, useRef, useState, type FormEvent, type ReactNode } from "react";
import { Dialog } from "../../shell/Dialog";
import { messageOf } from "../../shell/format";

/** Asks for a name, or only for a yes, and stays until that has worked. */
export function AskDialog(props: {
  title: string;
  act: string;
  /** Without it there is nothing to write. */
  field?: { label: string; value: string };
  danger?: boolean;
  onAct: (text: string) => Promise<void> | void;
  onClose: () => void;
  children?: ReactNode;
}) {
  const [text, setText] = useState(props.field?.value ?? "");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  // Where a name is given, its end, ".txt" or so, mostly stays.
  useEffect(() => {
    const input = field.current;
    if (!input) return;
    input.focus();
    const dot = input.value.lastIndexOf(".");
    const from = input.value.lastIndexOf("/") + 1;
    input.setSelectionRange(from, dot > from ? dot : input.value.length);
  }, []);
  async function act(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    try {
      await props.onAct(text.trim());
      props.onClose();
    } catch (cause) {
      setError(messageOf(cause));
      setBusy(false);
    }
  }
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <form className="stack" onSubmit={(event) => void act(event)}>
        {props.children}
        {props.field && (
          <label>
            {props.field.label}
            <input
              ref={field}
              value={text}
              autoComplete="off"
              onChange={(event) => setText(event.target.value)}
            />
          </label>
        )}
        {error && (
          <p role="alert" className="notice bad">
            {error}
          </p>
        )}
        <div className="row end">
          <button type="button" onClick={props.onClose}>
            Cancel
          </button>
          <button
            type="submit"
            className={props.danger ? "primary danger" : "primary"}
            disabled={busy || (props.field && text.trim() === "")}
          >
            {props.act}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
