import { useMemo, useState, type FormEvent } from "react";
import { parseKey } from "@castalia/oracles-client/wallet";
import { wordsOf } from "../../identity/words";
import { say } from "../../words";

/** Two places to ask for, in different halves. */
function places(count: number): number[] {
  const half = count / 2;
  const [one = 0, other = 0] = crypto.getRandomValues(new Uint32Array(2));
  return [one % half, half + (other % half)];
}

/** A key as words to write down; before it is locked it asks for two of them, if its owner wants. */
export default function KeyWords(props: { digits: string; onLock?: (() => void) | undefined }) {
  const { digits, onLock } = props;
  const words = useMemo(() => wordsOf(parseKey(digits).seed), [digits]);
  const [asked, setAsked] = useState<number[]>([]);
  if (onLock && asked.length > 0) {
    return <Check words={words} asked={asked} onLock={onLock} onBack={() => setAsked([])} />;
  }
  return (
    <>
      <p>{say("copy.wordsHint")}</p>
      <ol
        className="key-words mono"
        dir="ltr"
        lang="en"
        translate="no"
        aria-label={say("copy.wordsName")}
      >
        {words.map((word, i) => (
          <li key={i}>{word}</li>
        ))}
      </ol>
      {onLock && (
        <button type="button" className="primary" onClick={() => setAsked(places(words.length))}>
          {say("copy.wroteDown")}
        </button>
      )}
    </>
  );
}

/** Two fields for words by their places, while the words are out of sight. */
function Check(props: {
  words: string[];
  asked: number[];
  onLock: () => void;
  onBack: () => void;
}) {
  const { words, asked, onLock } = props;
  const [typed, setTyped] = useState<string[]>([]);
  const [mistaken, setMistaken] = useState<number>();
  function check(event: FormEvent) {
    event.preventDefault();
    const wrong = asked.find((at, i) => typed[i]?.trim().toLowerCase() !== words[at]);
    setMistaken(wrong);
    if (wrong === undefined) onLock();
  }
  return (
    <form className="stack" onSubmit={check}>
      <p>{say("copy.checkHint")}</p>
      <div className="pair">
        {asked.map((at, i) => (
          <label key={at}>
            {say("copy.place", { place: String(at + 1) })}
            <input
              autoFocus={i === 0}
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              dir="ltr"
              value={typed[i] ?? ""}
              onChange={(event) => setTyped(Object.assign([...typed], { [i]: event.target.value }))}
            />
          </label>
        ))}
      </div>
      {mistaken !== undefined && (
        <p role="alert" className="bad">
          {say("copy.mistaken", { place: String(mistaken + 1) })}
        </p>
      )}
      <div className="row">
        <button type="submit" className="primary">
          {say("copy.checkLock")}
        </button>
        <button type="button" onClick={props.onBack}>
          {say("copy.wordsAgain")}
        </button>
        <button type="button" onClick={onLock}>
          {say("copy.skipCheck")}
        </button>
      </div>
    </form>
  );
}
