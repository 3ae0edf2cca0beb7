import {
  useKnowledge,
  type IAnswer,
  type IDocument,
  type IHit,
} from "@castalia/oracles-client/knowledge";
import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useDoing } from "../../shell/asked";
import { Icon } from "../../shell/icons";
import { Link } from "../../shell/Link";
import { Problem } from "../../shell/Problem";
import { here } from "../chat/here";
import { labelsNow, say } from "../../words";
import { AskPeople } from "./AskPeople";

/** Asks the documents, and shows what they say and where. */
export function AskBox({ documents }: { documents: Record<string, IDocument[]> }) {
  const { serviceDid } = useSession();
  const { ask } = useKnowledge({ oracleDid: serviceDid, overrides: here });
  const [question, setQuestion] = useState("");
  const [answer, setAnswer] = useState<IAnswer & { asked: string }>();
  const { run, isBusy, error } = useDoing();

  function submit(event: FormEvent) {
    event.preventDefault();
    if (question.trim() === "" || isBusy) return;
    run(async () => {
      try {
        const asked = question.trim();
        setAnswer({ ...(await ask(asked, { limit: 3 })), asked });
      } catch (cause) {
        setAnswer(undefined);
        throw cause;
      }
    });
  }
  return (
    <section className="card ask" aria-label={say("knowledge.askDocuments")}>
      <form className="row" onSubmit={submit}>
        <label className="field-icon grow">
          <span className="visually-hidden">{say("knowledge.askDocuments")}</span>
          <Icon name="search" />
          <input
            type="search"
            data-entry
            placeholder={say("knowledge.askExample")}
            value={question}
            onChange={(event) => setQuestion(event.target.value)}
          />
        </label>
        <button className="primary" type="submit" disabled={question.trim() === "" || isBusy}>
          {labelsNow().ask}
        </button>
      </form>
      <div role="status">
        {answer && !answer.answered && (
          <p className="soft">
            {answer.nearest.length > 0
              ? say("knowledge.noAnswerNearest", { names: answer.nearest.join(", ") })
              : say("knowledge.noAnswer")}
          </p>
        )}
        {answer?.answered && (
          <ol className="plain passages">
            {answer.hits.map((hit) => (
              <li key={`${hit.document} ${hit.number}`}>
                <Passage hit={hit} path={pathOf(documents, hit)} />
              </li>
            ))}
          </ol>
        )}
      </div>
      {answer && (
        <details key={answer.asked} open={!answer.answered}>
          <summary className="soft small">{say("knowledge.askPeople")}</summary>
          <AskPeople question={answer.asked} />
        </details>
      )}
      <Problem error={error} />
    </section>
  );
}

/** Where the document lies, if it is one of the reader's own. */
function pathOf(documents: Record<string, IDocument[]>, hit: IHit): string | undefined {
  return documents[hit.collection]?.find((d) => d.id === hit.document)?.path;
}

function Passage({ hit, path }: { hit: IHit; path: string | undefined }) {
  const title = hit.title || hit.name;
  const said = hit.sentences.join("\n");
  const where = [
    hit.page ? labelsNow().page(hit.page) : "",
    hit.part ?? "",
    ...hit.headings.slice(-1),
    hit.collectionName,
  ].filter((text) => text !== "" && text !== title);
  return (
    <>
      <blockquote dir="auto">{said || hit.text}</blockquote>
      <p className="soft small source" dir="auto">
        {path ? <Link to={`files?open=${encodeURIComponent(path)}`}>{title}</Link> : title}
        {where.map((text) => ` · ${text}`).join("")}
      </p>
      {hit.text.replace(/\s+/g, "") !== said.replace(/\s+/g, "") && (
        <details>
          <summary className="soft small">{labelsNow().wholePassage}</summary>
          <p className="whole" dir="auto">
            {hit.text}
          </p>
        </details>
      )}
    </>
  );
}
