import { useState, type FormEvent } from "react";
import { useSession } from "../../../identity/session";
import { useDoing } from "../../../shell/asked";
import { ago } from "../../../shell/format";
import { useKeptFocus } from "../../../shell/keptFocus";
import { Problem } from "../../../shell/Problem";
import { Skeleton } from "../../../shell/Skeleton";
import { say, type Key } from "../../../words";
import { ask, useLook } from "../api";
import { documentPath, historyPath, over, type StoredText, type Version } from "./choices";
import { RuledBy } from "./parts";

const documents: [name: string, title: Key, hint: Key][] = [
  ["instructions", "choices.instructions", "choices.instructionsHint"],
  ["models", "choices.models", "choices.modelsHint"],
  ["synonyms", "choices.synonyms", "choices.synonymsHint"],
];

/** What the oracle is told, as texts, with their histories. */
export function DocumentsCard({ mayChange }: { mayChange: boolean }) {
  const [name, setName] = useState("instructions");
  const hint = documents.find(([one]) => one === name)?.[2];
  return (
    <section className="card stack" aria-label={say("choices.documents")}>
      <h2>{say("choices.documents")}</h2>
      <label>
        {say("choices.document")}
        <select value={name} onChange={(event) => setName(event.target.value)}>
          {documents.map(([one, title]) => (
            <option key={one} value={one}>
              {say(title)}
            </option>
          ))}
        </select>
      </label>
      {hint && <p className="soft small">{say(hint)}</p>}
      <Editor key={name} name={name} mayChange={mayChange} />
    </section>
  );
}

function Editor({ name, mayChange }: { name: string; mayChange: boolean }) {
  const session = useSession();
  const { data: stored, error } = useLook<StoredText>(documentPath(name), 30_000);
  // What is typed is over the version that was read, whoever stores another one meanwhile.
  const [typed, setTyped] = useState<{ text: string; newest: number }>();
  const [note, setNote] = useState("");
  const [isKept, setKept] = useState(false);
  const keeping = useDoing([]);
  if (!stored) {
    return error ? (
      <Problem error={error} />
    ) : (
      <Skeleton lines={6} label={say("operator.asking")} />
    );
  }
  const isHeld = !mayChange || stored.readOnly;
  function keep(event: FormEvent) {
    event.preventDefault();
    if (!typed) return;
    keeping.run(async () => {
      const body = { text: typed.text, note: note.trim() };
      await ask(session, documentPath(name), "PUT", body, over(typed.newest));
      setTyped(undefined);
      setNote("");
      setKept(true);
    });
  }
  return (
    <>
      <form className="stack" onSubmit={keep}>
        <Problem error={keeping.error || error} />
        {stored.problem && <p className="bad">{stored.problem}</p>}
        <label>
          {say("choices.text")}
          <textarea
            className="mono"
            rows={14}
            spellCheck={false}
            dir="auto"
            readOnly={isHeld}
            value={typed?.text ?? stored.text}
            onChange={({ target }) => {
              setTyped({ text: target.value, newest: typed?.newest ?? stored.newest });
              setKept(false);
            }}
          />
        </label>
        <RuledBy ruled={stored} />
        {!isHeld && (
          <>
            <label>
              {say("choices.note")}
              <input
                maxLength={200}
                autoComplete="off"
                value={note}
                onChange={(event) => setNote(event.target.value)}
              />
            </label>
            <p className="row">
              <button type="submit" className="primary" disabled={keeping.isBusy || !typed}>
                {say("choices.keep")}
              </button>
              {typed && (
                <button type="button" onClick={() => setTyped(undefined)}>
                  {say("choices.asItWas")}
                </button>
              )}
              <span role="status">{isKept && say("choices.kept")}</span>
            </p>
          </>
        )}
      </form>
      {stored.newest > 0 && <Versions name={name} newest={stored.newest} mayRestore={!isHeld} />}
    </>
  );
}

function Versions(props: { name: string; newest: number; mayRestore: boolean }) {
  const { name, newest } = props;
  const session = useSession();
  const { data, error } = useLook<{ versions: Version[] }>(historyPath(name), 30_000);
  const restoring = useDoing([]);
  const kept = useKeptFocus<HTMLUListElement>();
  const restore = (version: number) =>
    restoring.run(() =>
      ask(session, `${documentPath(name)}/versions/${version}/restore`, "POST", {}, over(newest)),
    );
  return (
    <>
      <h3>{say("choices.versions")}</h3>
      <Problem error={restoring.error || error} />
      <ul {...kept} className="plain locks" aria-label={say("choices.versions")}>
        {data?.versions.map((one) => (
          <li key={one.version} className="row spread nowrap">
            <span>
              <strong>
                {say(one.removed ? "choices.versionRemoved" : "choices.version", {
                  number: one.version,
                })}
              </strong>
              <span className="soft small block" dir="auto">
                {say("choices.versionBy", { author: one.author, when: ago(one.written) })}
                {one.note && ` ${one.note}`}
              </span>
            </span>
            {props.mayRestore && one.version !== newest && (
              <button
                type="button"
                disabled={restoring.isBusy}
                aria-label={say("choices.restoreOne", { number: one.version })}
                onClick={() => restore(one.version)}
              >
                {say("choices.restore")}
              </button>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
