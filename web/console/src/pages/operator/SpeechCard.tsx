import { useSession } from "../../identity/session";
import { useAsked } from "../../shell/asked";
import { list } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { say } from "../../words";
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
      <h2>{say("operator.speech")}</h2>
      <Problem error={error} />
      {data && (
        <ul className="plain checks" aria-label={say("operator.speechServices")}>
          {data.findings.map(({ endpoint, host, model, speech, ok, problem }) => (
            <li key={`${speech} ${endpoint} ${model}`}>
              <div className="row spread">
                <span>
                  <span className={ok ? "dot good" : "dot bad"} />{" "}
                  <span dir="auto">{endpoint}</span>{" "}
                  <span className="soft small">{say("operator.half", { half: speech })}</span>
                </span>
                {ok && <span className="soft">{say("operator.answers")}</span>}
              </div>
              <p className="cause soft small" dir="auto">
                {host ? list([model, host]) : model}
              </p>
              {problem && (
                <p className="cause bad" dir="auto">
                  {problem}
                </p>
              )}
            </li>
          ))}
        </ul>
      )}
      <p className="soft small">
        {say(data?.findings.length === 0 ? "operator.noSpeech" : "operator.speechHint")}
      </p>
    </section>
  );
}
