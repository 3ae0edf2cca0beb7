import { useSession } from "../../identity/session";
import { useAsked } from "../../shell/asked";
import { Problem } from "../../shell/Problem";
import { ask } from "./api";

/** What GET /operator/speech says: in the order in which services are asked. */
interface SpeechCheck {
  findings: {
    endpoint: string;
    host?: string;
    model: string;
    speech: "hearing" | "voice";
    ok: boolean;
    problem?: string;
  }[];
}

const halves = { hearing: "hears", voice: "speaks" };

/** Which services hear and speak in calls, and whether they answer. */
export function SpeechCard() {
  const session = useSession();
  const { data, error } = useAsked({
    queryKey: ["operator", "speech"],
    queryFn: () => ask<SpeechCheck>(session, "/operator/speech"),
    refetchInterval: 60_000,
  });
  return (
    <section className="card" aria-busy={!data && !error}>
      <h2>Speech in calls</h2>
      <Problem error={error} />
      {data && (
        <ul className="plain checks" aria-label="Services of speech">
          {data.findings.map(({ endpoint, host, model, speech, ok, problem }) => (
            <li key={`${speech} ${endpoint} ${model}`}>
              <div className="row spread">
                <span>
                  <span className={ok ? "dot good" : "dot bad"} /> {endpoint}{" "}
                  <span className="soft small">{halves[speech]}</span>
                </span>
                {ok && <span className="soft">answers</span>}
              </div>
              <p className="cause soft small">{host ? `${model}, ${host}` : model}</p>
              {problem && <p className="cause bad">{problem}</p>}
            </li>
          ))}
        </ul>
      )}
      <p className="soft small">
        {data?.findings.length === 0
          ? "None is set: callers type, and read captions. Name some under speech in the document of models."
          : "The first that answers is used, of those that hear and of those that speak."}
      </p>
    </section>
  );
}
