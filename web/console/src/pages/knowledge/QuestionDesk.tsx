import type { IQuestion } from "@castalia/oracles-client/knowledge";
import { useState, type FormEvent } from "react";
import { useAsked, useDoing } from "../../shell/asked";
import { ago } from "../../shell/format";
import { useKeptFocus } from "../../shell/keptFocus";
import { Problem } from "../../shell/Problem";
import { say } from "../../words";
import "./knowledge.css";

/** Asks a route below those of one kind of staff. */
export type StaffAsk = <T>(path: string, method?: string, body?: object) => Promise<T>;

const every = 10_000;

/**
 * Questions that wait for people, the oldest first, for whoever may answer them. Who asked is not
 * among what the server tells, unless the asker agreed.
 */
export function QuestionDesk(props: { staff: string; ask: StaffAsk; empty?: string }) {
  const { staff, ask, empty } = props;
  const key = ["questions", staff];
  const { data, error } = useAsked<{ questions: IQuestion[]; next?: string }>({
    queryKey: key,
    queryFn: () => ask("/questions?limit=50"),
    refetchInterval: every,
  });
  const { run, isBusy, error: refusal } = useDoing(key);
  const kept = useKeptFocus<HTMLUListElement>();
  const problem = refusal || error;
  if (!problem && (!data || (data.questions.length === 0 && !empty))) return null;
  const settle = (id: string, how: string, body?: object) =>
    run(() => ask(`/questions/${encodeURIComponent(id)}/${how}`, "POST", body));
  return (
    <section className="card knowledge desk" aria-label={say("knowledge.questions")}>
      <h2>{say("knowledge.questions")}</h2>
      <Problem error={problem} />
      {data?.questions.length === 0 && <p className="soft">{empty}</p>}
      <ul {...kept} className="plain questions" aria-label={say("knowledge.questionsWaiting")}>
        {data?.questions.map((q) => (
          <li key={q.id}>
            <Waiting
              question={q}
              isBusy={isBusy}
              onAnswer={(body) => settle(q.id, "answer", body)}
              onDismiss={() => settle(q.id, "dismiss")}
            />
          </li>
        ))}
      </ul>
      {data?.next && <p className="soft small">{say("knowledge.moreQuestions")}</p>}
    </section>
  );
}

function Waiting(props: {
  question: IQuestion;
  isBusy: boolean;
  onAnswer: (body: { answer: string; keep?: boolean; question?: string }) => void;
  onDismiss: () => void;
}) {
  const { question: q, isBusy } = props;
  const [answer, setAnswer] = useState("");
  const [keep, setKeep] = useState(false);
  const [asked, setAsked] = useState(q.question);
  function submit(event: FormEvent) {
    event.preventDefault();
    const words = asked.trim();
    props.onAnswer({
      answer: answer.trim(),
      ...(keep && { keep, ...(words && words !== q.question && { question: words }) }),
    });
  }
  return (
    <form className="stack" aria-label={q.question} onSubmit={submit}>
      <p>
        <strong dir="auto">{q.question}</strong>
        <span className="soft small block">
          <span dir="auto">
            {[q.from || say("knowledge.somebody"), q.channel, q.collectionName].join(" · ")}
          </span>
          {` · ${ago(q.askedAt)}`}
        </span>
      </p>
      <label>
        {say("knowledge.answer")}
        <textarea
          rows={2}
          required
          value={answer}
          onChange={(event) => setAnswer(event.target.value)}
        />
      </label>
      <label className="choice">
        <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.target.checked)} />
        {say("knowledge.keepAnswer")}
      </label>
      {keep && (
        <label>
          {say("knowledge.keptQuestion")}
          <input required value={asked} onChange={(event) => setAsked(event.target.value)} />
        </label>
      )}
      <div className="row">
        <button className="primary" type="submit" disabled={isBusy || answer.trim() === ""}>
          {say("knowledge.sendAnswer")}
        </button>
        <button type="button" className="quiet" disabled={isBusy} onClick={props.onDismiss}>
          {say("knowledge.dismiss")}
        </button>
      </div>
    </form>
  );
}
