import { useState, type FormEvent } from "react";
import { useSession } from "../../../identity/session";
import { useDoing } from "../../../shell/asked";
import { Problem } from "../../../shell/Problem";
import { say } from "../../../words";
import { ask, useLook } from "../api";
import {
  asked,
  found,
  kinds,
  over,
  singlePath,
  tryModel,
  type Check,
  type Kind,
  type Single,
  type Typed,
} from "./choices";
import { RuledBy } from "./parts";

/** Which model answers: tried before it is chosen, and chosen for every node at once. */
export function ModelCard({ mayChange }: { mayChange: boolean }) {
  const { data: now, error } = useLook<Single>(singlePath, 30_000);
  return (
    <section className="card stack" aria-label={say("choices.model")}>
      <h2>{say("choices.model")}</h2>
      <Problem error={error} />
      {now?.problem && <p className="bad">{now.problem}</p>}
      {now && (now.readOnly || !now.whole || !mayChange) && <Held now={now} />}
      {now && !now.readOnly && now.whole && mayChange && <Form now={now} />}
    </section>
  );
}

/** A model that is not changed here, and how it does. */
function Held({ now }: { now: Single }) {
  const session = useSession();
  const { run, isBusy, error } = useDoing();
  const [check, setCheck] = useState<Check>();
  return (
    <>
      {now.model && (
        <p className="mono" dir="auto">
          {now.model}
        </p>
      )}
      {now.readOnly ? (
        <RuledBy ruled={now} />
      ) : (
        !now.whole && <p className="soft">{say("choices.moreModels")}</p>
      )}
      <Problem error={error} />
      <Found check={check} />
      <p>
        <button
          type="button"
          disabled={isBusy}
          onClick={() => run(async () => setCheck(await ask<Check>(session, "/operator/models")))}
        >
          {say(isBusy ? "choices.testing" : "choices.test")}
        </button>
      </p>
    </>
  );
}

function Found({ check }: { check: Check | undefined }) {
  return (
    <div role="status">
      {check && (
        <ul>
          {found(check).map((text) => (
            <li key={text} className={check.ok ? "" : "bad"} dir="auto">
              {text}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Form({ now }: { now: Single }) {
  const session = useSession();
  const trying = useDoing();
  const keeping = useDoing([]);
  const [typed, setTyped] = useState<Partial<Typed>>({});
  const [check, setCheck] = useState<Check>();
  const [isKept, setKept] = useState(false);
  const values: Typed = {
    kind: typed.kind ?? now.kind,
    address: typed.address ?? now.address ?? "",
    model: typed.model ?? now.model ?? "",
    key: typed.key ?? "",
  };
  const field = (name: keyof Typed) => ({
    value: values[name],
    autoComplete: "off",
    dir: "auto",
    onChange: (event: { target: { value: string } }) => change({ [name]: event.target.value }),
  });
  function change(part: Partial<Typed>) {
    setTyped({ ...typed, ...part });
    setCheck(undefined);
    setKept(false);
  }
  function keep(event: FormEvent) {
    event.preventDefault();
    keeping.run(async () => {
      await ask(session, singlePath, "PUT", asked(values, now), over(now.newest));
      setTyped({});
      setKept(true);
    });
  }
  const isModel = values.kind !== "guide";
  const isWanting = isModel && values.model.trim() === "";
  const isBusy = trying.isBusy || keeping.isBusy;
  return (
    <form className="stack" onSubmit={keep}>
      <label>
        {say("choices.kind")}
        <select
          value={values.kind}
          onChange={(event) => change({ kind: event.target.value as Kind })}
        >
          {kinds.map(([kind, words]) => (
            <option key={kind} value={kind}>
              {say(words)}
            </option>
          ))}
        </select>
      </label>
      {isModel && (
        <>
          <label>
            {say("choices.address")}
            <input
              type="url"
              maxLength={2000}
              placeholder={say("choices.addressUsual")}
              {...field("address")}
            />
          </label>
          <label>
            {say("choices.modelName")}
            <input required maxLength={128} {...field("model")} />
          </label>
          <label>
            {say("choices.key")}
            <input
              {...field("key")}
              type="password"
              maxLength={4096}
              autoComplete="new-password"
              placeholder={now.keyGiven ? say("choices.keyStays") : ""}
            />
          </label>
          <p className="soft small">{say("choices.keyHint")}</p>
        </>
      )}
      <Problem error={trying.error || keeping.error} />
      <Found check={check} />
      <p className="row">
        <button
          type="button"
          disabled={isBusy || isWanting}
          onClick={() =>
            trying.run(async () => setCheck(await tryModel(session, asked(values, now))))
          }
        >
          {say(trying.isBusy ? "choices.testing" : "choices.test")}
        </button>
        <button
          type="submit"
          className="primary"
          disabled={isBusy || isWanting || Object.keys(typed).length === 0}
        >
          {say("choices.keep")}
        </button>
        <span role="status">{isKept && say("choices.kept")}</span>
      </p>
    </form>
  );
}
