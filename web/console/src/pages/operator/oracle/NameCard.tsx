import { useState, type FormEvent } from "react";
import { useSession } from "../../../identity/session";
import { useAsked, useDoing } from "../../../shell/asked";
import { fetchFeatures, renamed } from "../../../shell/features";
import { Problem } from "../../../shell/Problem";
import { say } from "../../../words";
import { ask, useLook } from "../api";
import { documentPath, nameText, over, type StoredText } from "./choices";
import { RuledBy } from "./parts";

const path = documentPath("name");

/** What the oracle is called, to be changed. */
export function NameCard({ mayChange }: { mayChange: boolean }) {
  const session = useSession();
  const now = useAsked({ queryKey: ["features"], queryFn: fetchFeatures });
  const { data: stored, error: failed } = useLook<StoredText>(path, 15_000);
  const [typed, setTyped] = useState<string>();
  const [isKept, setKept] = useState(false);
  const { run, isBusy, error } = useDoing([]);
  const inForce = now.data?.name ?? "";
  const isHeld = !mayChange || !stored || stored.readOnly;
  function keep(event: FormEvent) {
    event.preventDefault();
    const wanted = typed?.trim();
    if (!stored || !wanted) return;
    run(async () => {
      await ask(session, path, "PUT", { text: nameText(wanted) }, over(stored.newest));
      dispatchEvent(new Event(renamed));
      setTyped(undefined);
      setKept(true);
    });
  }
  return (
    <section className="card stack" aria-label={say("choices.itsName")}>
      <h2>{say("choices.itsName")}</h2>
      <Problem error={error || failed || now.error} />
      <form className="stack" onSubmit={keep}>
        <label>
          {say("choices.called")}
          <input
            required
            dir="auto"
            maxLength={80}
            autoComplete="off"
            disabled={isHeld || isBusy}
            value={typed ?? inForce}
            onChange={(event) => {
              setTyped(event.target.value);
              setKept(false);
            }}
          />
        </label>
        <p className="soft small">{say("choices.nameHint")}</p>
        {stored && <RuledBy ruled={stored} />}
        {!isHeld && (
          <p className="row">
            <button type="submit" disabled={isBusy || !typed?.trim() || typed.trim() === inForce}>
              {say("choices.keep")}
            </button>
            <span role="status">{isKept && say("choices.kept")}</span>
          </p>
        )}
      </form>
    </section>
  );
}
