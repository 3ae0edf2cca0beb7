import { useQuestions, type IQuestion } from "@castalia/oracles-client/knowledge";
import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { ago } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { here } from "../chat/here";
import { say, type Key } from "../../words";

/** Sends what no document answers to people. They see who asks only if the asker says so here. */
export function AskPeople({ question }: { question: string }) {
  const { serviceDid } = useSession();
  const { send } = useQuestions({ oracleDid: serviceDid, overrides: here });
  const { run, isBusy, error } = useDoing();
  const [showMe, setShowMe] = useState(false);
  const [name, setName] = useState("");
  const [sent, setSent] = useState<IQuestion>();
  if (sent) {
    return (
      <p className="soft">
        {sent.from
          ? say("knowledge.sentNamed", { collection: sent.collectionName, name: sent.from })
          : say("knowledge.sentUnnamed", { collection: sent.collectionName })}
      </p>
    );
  }
  function submit(event: FormEvent) {
    event.preventDefault();
    run(async () => {
      const called = name.trim();
      setSent(await send(question, showMe ? { showMe, ...(called && { name: called }) } : {}));
    });
  }
  return (
    <form className="stack ask-people" aria-label={say("knowledge.askPeople")} onSubmit={submit}>
      <label className="choice">
        <input
          type="checkbox"
          checked={showMe}
          onChange={(event) => setShowMe(event.target.checked)}
        />
        {say("knowledge.showMe")}
      </label>
      {showMe && (
        <label>
          {say("knowledge.yourName")}
          <input
            maxLength={100}
            autoComplete="name"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </label>
      )}
      <p>
        <button type="submit" disabled={isBusy}>
          {say("knowledge.askPeople")}
        </button>
      </p>
      <Problem error={error} />
    </form>
  );
}

const waits: Record<IQuestion["state"], Key> = {
  waiting: "knowledge.questionWaiting",
  answered: "knowledge.questionAnswered",
  dismissed: "knowledge.questionDismissed",
};

/** What one has asked people, and what they said. */
export function MyQuestions() {
  const { serviceDid } = useSession();
  const { questions, error } = useQuestions({ oracleDid: serviceDid, overrides: here });
  if (questions.length === 0) return <Problem error={error?.message ?? ""} />;
  return (
    <section className="card" aria-label={say("knowledge.asked")}>
      <h2>{say("knowledge.asked")}</h2>
      <ul className="plain questions">
        {questions.map((q) => (
          <li key={q.id}>
            <p dir="auto">{q.question}</p>
            {q.answer && <blockquote dir="auto">{q.answer}</blockquote>}
            <p className="soft small">
              <span dir="auto">{q.collectionName}</span>
              {[
                "",
                say(waits[q.state]),
                ago(q.settledAt || q.askedAt),
                q.from ? say("knowledge.theySee", { name: q.from }) : say("knowledge.theyDoNotSee"),
              ].join(" · ")}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}
