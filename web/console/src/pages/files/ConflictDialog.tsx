import { useRef } from "react";
import { Dialog } from "../../shell/Dialog";
import { plural } from "../../shell/format";
import type { Policy } from "./transfer";

/** Names in a question; the others are counted. */
const shown = 5;

/** Asks, once for all of them, what becomes of things whose names are taken. Enter by habit changes nothing. */
export function ConflictDialog(props: {
  names: string[];
  onAnswer: (policy: Policy | undefined) => void;
}) {
  const { names, onAnswer } = props;
  const rest = names.length - shown;
  const skip = useRef<HTMLButtonElement>(null);
  return (
    <Dialog
      title={
        names.length === 1 ? "This name is taken" : `${plural(names.length, "name")} are taken`
      }
      onClose={() => onAnswer(undefined)}
      initial={skip}
    >
      <ul className="path-cell">
        {names.slice(0, shown).map((name) => (
          <li key={name}>{name}</li>
        ))}
        {rest > 0 && <li className="soft">and {plural(rest, "more", "more")}</li>}
      </ul>
      <p className="soft small">
        What is replaced stays as an older version, or in the trash. The answer is for all of them.
      </p>
      <div className="row end">
        <button ref={skip} type="button" onClick={() => onAnswer("skip")}>
          Skip
        </button>
        <button type="button" onClick={() => onAnswer("replace")}>
          Replace
        </button>
        <button type="button" className="primary" onClick={() => onAnswer("both")}>
          Keep both
        </button>
      </div>
    </Dialog>
  );
}
