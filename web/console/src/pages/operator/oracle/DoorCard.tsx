import { useState, type FormEvent, type ReactNode } from "react";
import { useSession } from "../../../identity/session";
import { useDoing } from "../../../shell/asked";
import { Problem } from "../../../shell/Problem";
import { say } from "../../../words";
import { ask, useLook } from "../api";
import { documentPath, doors, doorText, over, type Door, type StoredText } from "./choices";
import { RuledBy } from "./parts";

const path = documentPath("access");

/** Who may come in, to be chosen: it holds on every node at once. */
export function DoorCard(props: {
  mayChange: boolean;
  /** What is beside it; it is told who may come. */
  children?: (door: Door) => ReactNode;
}) {
  const session = useSession();
  const now = useLook<{ access: Door; members: number }>("/operator/access", 15_000);
  const stored = useLook<StoredText>(path, 15_000);
  const [chosen, setChosen] = useState<Door>();
  const [isKept, setKept] = useState(false);
  const { run, isBusy, error } = useDoing([]);
  const door = now.data?.access;
  function keep(event: FormEvent) {
    event.preventDefault();
    const [want, before] = [chosen, stored.data];
    if (!want || !before) return;
    run(async () => {
      await ask(session, path, "PUT", { text: doorText(want) }, over(before.newest));
      setChosen(undefined);
      setKept(true);
    });
  }
  const isHeld = !props.mayChange || !stored.data || stored.data.readOnly;
  return (
    <section className="card stack" aria-label={say("choices.whoMayCome")}>
      <h2>{say("choices.whoMayCome")}</h2>
      <Problem error={error || now.error || stored.error} />
      {now.data && door && (
        <form className="stack" onSubmit={keep}>
          <div className="stack" role="radiogroup" aria-label={say("choices.whoMayCome")}>
            {doors.map(([value, words]) => (
              <label key={value} className="choice">
                <input
                  type="radio"
                  name="door"
                  value={value}
                  checked={(chosen ?? door) === value}
                  disabled={isHeld || isBusy}
                  onChange={() => {
                    setChosen(value);
                    setKept(false);
                  }}
                />
                {say(words)}
              </label>
            ))}
          </div>
          <p className="soft small">
            {say("choices.members", { count: now.data.members })}{" "}
            {!isHeld && say("choices.doorHint")}
          </p>
          {stored.data && <RuledBy ruled={stored.data} />}
          {!isHeld && (
            <p className="row">
              <button type="submit" disabled={isBusy || chosen === undefined || chosen === door}>
                {say("choices.keep")}
              </button>
              <span role="status">{isKept && say("choices.kept")}</span>
            </p>
          )}
        </form>
      )}
      {door && props.children?.(door)}
    </section>
  );
}
