import { useRef } from "react";
import { Dialog } from "../../shell/Dialog";
import { say } from "../../words";
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
        names.length === 1 ? say("files.nameTaken") : say("files.namesTaken", { n: names.length })
      }
      onClose={() => onAnswer(undefined)}
      initial={skip}
    >
      <ul className="path-cell">
        {names.slice(0, shown).map((name) => (
          <li key={name} dir="auto">
            {name}
          </li>
        ))}
        {rest > 0 && <li className="soft">{say("files.andMore", { n: rest })}</li>}
      </ul>
      <p className="soft small">{say("files.replacedStays")}</p>
      <div className="row end">
        <button ref={skip} type="button" onClick={() => onAnswer("skip")}>
          {say("files.skip")}
        </button>
        <button type="button" onClick={() => onAnswer("replace")}>
          {say("files.replace")}
        </button>
        <button type="button" className="primary" onClick={() => onAnswer("both")}>
          {say("files.keepBoth")}
        </button>
      </div>
    </Dialog>
  );
}
