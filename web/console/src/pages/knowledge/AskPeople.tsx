import { useQuestions, type IQuestion } from "@castalia/oracles-client/knowledge";
import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { ago } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { here } from "../chat/here";

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
        The people of {sent.collectionName} were asked
        {sent.from ? `, and see that you are ${sent.from}` : ", and do not see who you are"}. Their
        answer comes on this page.
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
    <form className="stack ask-people" aria-label="Ask people" onSubmit={submit}>
      <label className="choice">
        <input
          type="checkbox"
          checked={showMe}
          onChange={(event) => setShowMe(event.target.checked)}
        />
        Those who answer may see who I am
      </label>
      {showMe && (
        <label>
          Your name; without one they see your DID
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
          Ask people
        </button>
      </p>
      <Problem error={error} />
    </form>
  );
}

const waits: Record<IQuestion["state"], string> = {
  waiting: "waiting for an answer",
  answered: "answered",
  dismissed: "dismissed: nobody will answer it",
};

/** What one has asked people, and what they said. */
export function MyQuestions() {
  const { serviceDid } = useSession();
  const { questions, error } = useQuestions({ oracleDid: serviceDid, overrides: here });
  if (questions.length === 0) return <Problem error={error?.message ?? ""} />;
  return (
    <section className="card" aria-label="What you asked people">
      <h2>What you asked people</h2>
      <ul className="plain questions">
        {questions.map((q) => (
          <li key={q.id}>
            <p>{q.question}</p>
            {q.answer && <blockquote>{q.answer}</blockquote>}
            <p className="soft small">
              {[
                q.collectionName,
                waits[q.state],
                ago(q.settledAt || q.askedAt),
                q.from ? `they see that you are ${q.from}` : "they do not see who asked",
              ].join(" · ")}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}
