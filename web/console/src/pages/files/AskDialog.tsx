import { useEffect, useRef, useState, type FormEvent } from "react";
import { useDoing } from "../../shell/asked";
import { Dialog } from "../../shell/Dialog";
import { Problem } from "../../shell/Problem";
import { say } from "../../words";

/** Asks for a name, and stays until what is done with it has worked. */
export function AskDialog(props: {
  title: string;
  act: string;
  field: { label: string; value: string };
  onAct: (text: string) => Promise<void> | void;
  onClose: () => void;
}) {
  const [text, setText] = useState(props.field.value);
  const { run, isBusy, error } = useDoing([]);
  const field = useRef<HTMLInputElement>(null);
  // The end of a name, ".txt" or so, mostly stays.
  useEffect(() => {
    const input = field.current;
    if (!input) return;
    input.focus();
    const dot = input.value.lastIndexOf(".");
    const from = input.value.lastIndexOf("/") + 1;
    input.setSelectionRange(from, dot > from ? dot : input.value.length);
  }, []);
  function act(event: FormEvent) {
    event.preventDefault();
    run(async () => {
      await props.onAct(text.trim());
      props.onClose();
    });
  }
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <form className="stack" onSubmit={act}>
        <label>
          {props.field.label}
          <input
            ref={field}
            value={text}
            autoComplete="off"
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        <Problem error={error} />
        <div className="row end">
          <button type="button" onClick={props.onClose}>
            {say("shell.cancel")}
          </button>
          <button type="submit" className="primary" disabled={isBusy || text.trim() === ""}>
            {props.act}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
