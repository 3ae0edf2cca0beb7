import { useState, type FormEvent } from "react";
import { useSession } from "../../../identity/session";
import { useAsked } from "../../../shell/asked";
import { say } from "../../../words";
import { ask } from "../api";
import type { Size } from "./draft";

interface Shown {
  text: string;
  end: boolean;
  screen: string;
  language: string;
  size: Size;
  facts: string[];
  called: { action: string; run: string; outcome: string; outcomes: string[] }[];
}

/** A telephone on which the draft is tried. Nothing is done, and nobody is told. */
export function TryPanel(props: {
  text: string;
  isGood: boolean;
  languages: string[];
  guards: string[];
  codes: string[];
  onShow: (screen: string) => void;
}) {
  const session = useSession();
  const [inputs, setInputs] = useState<string[]>([]);
  const [typed, setTyped] = useState("");
  const [language, setLanguage] = useState("");
  const [code, setCode] = useState("");
  const [facts, setFacts] = useState<string[]>(["oracle", "query", "knowledge"]);
  const [answers, setAnswers] = useState<Record<string, string>>({});
  // The last draft that passed the check stays on the telephone.
  const [good, setGood] = useState("");
  if (props.isGood && good !== props.text) setGood(props.text);
  const call = { text: good, inputs, language, code, facts, answers };
  const { data, error } = useAsked<Shown>({
    queryKey: ["menu try", call],
    queryFn: () => ask<Shown>(session, "/operator/ussd/menu/try", "POST", call),
    enabled: good !== "",
    staleTime: Infinity,
    gcTime: 0,
    placeholderData: (before: Shown | undefined) => before,
  });
  function send(event: FormEvent) {
    event.preventDefault();
    if (typed === "" || data?.end) return;
    setInputs([...inputs, typed]);
    setTyped("");
  }
  return (
    <section className="card stack menu-try" aria-label={say("menu.try")}>
      <div className="row spread">
        <h2>{say("menu.try")}</h2>
        <button type="button" className="quiet small" onClick={() => setInputs([])}>
          {say("menu.dialAgain")}
        </button>
      </div>
      {good !== "" && !props.isGood && <p className="small soft">{say("menu.beforeFault")}</p>}
      {error && (
        <p className="small bad" role="alert" dir="auto">
          {error}
        </p>
      )}
      <pre
        className="phone-screen"
        role="log"
        aria-live="polite"
        aria-label={say("menu.telephoneScreen")}
        dir="auto"
        tabIndex={0}
      >
        {data?.text ?? "…"}
      </pre>
      {data && (
        <p className="small soft">
          <span className={data.size.used > data.size.limit ? "bad" : ""}>
            {say("menu.air", { ...data.size })}
          </span>
          {" · "}
          <button type="button" className="link" onClick={() => props.onShow(data.screen)}>
            {say("menu.edit", { name: data.screen })}
          </button>
          {inputs.length > 0 && (
            <>
              {" · "}
              {say("menu.typed", { inputs: inputs.join(" › ") })}
            </>
          )}
        </p>
      )}
      <form className="row" onSubmit={send}>
        <label className="visually-hidden" htmlFor="menu-try-input">
          {say("menu.replyToDraft")}
        </label>
        <input
          id="menu-try-input"
          className="grow"
          autoComplete="off"
          value={typed}
          disabled={data?.end === true}
          placeholder={say(data?.end ? "menu.callOver" : "menu.reply")}
          onChange={(event) => setTyped(event.target.value)}
        />
        <button type="submit" className="primary" disabled={typed === "" || data?.end === true}>
          {say("menu.send")}
        </button>
        <button
          type="button"
          className="quiet"
          disabled={inputs.length === 0}
          onClick={() => setInputs(inputs.slice(0, -1))}
        >
          {say("menu.stepBack")}
        </button>
      </form>
      {data && data.called.length > 0 && (
        <ul className="plain small">
          {data.called.map((one, i) => (
            <li key={i}>
              <label>
                {say("menu.answered", { name: one.action })}
                <select
                  value={one.outcome}
                  onChange={(event) => setAnswers({ ...answers, [one.action]: event.target.value })}
                >
                  {one.outcomes.map((outcome) => (
                    <option key={outcome} dir="auto">
                      {outcome}
                    </option>
                  ))}
                </select>
              </label>
            </li>
          ))}
        </ul>
      )}
      <details>
        <summary className="small">{say("menu.pretend")}</summary>
        <div className="stack">
          <div className="row">
            <label className="small">
              {say("menu.language")}
              <select value={language} onChange={(event) => setLanguage(event.target.value)}>
                <option value="">{say("menu.usual")}</option>
                {props.languages.map((one) => (
                  <option key={one} dir="auto">
                    {one}
                  </option>
                ))}
              </select>
            </label>
            {props.codes.length > 0 && (
              <label className="small">
                {say("menu.codeDialled")}
                <select value={code} onChange={(event) => setCode(event.target.value)}>
                  <option value="">{say("menu.anyOther")}</option>
                  {props.codes.map((one) => (
                    <option key={one} dir="auto">
                      {one}
                    </option>
                  ))}
                </select>
              </label>
            )}
          </div>
          {props.guards.map((guard) => (
            <label key={guard} className="choice small">
              <input
                type="checkbox"
                checked={facts.includes(guard)}
                onChange={(event) =>
                  setFacts(
                    event.target.checked ? [...facts, guard] : facts.filter((f) => f !== guard),
                  )
                }
              />
              {say("menu.condition", { guard })}
            </label>
          ))}
        </div>
      </details>
    </section>
  );
}
