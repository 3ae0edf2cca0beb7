import { useAsked } from "../../shell/asked";
import { ago, duration, moment, number } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { useSession, type Session } from "../../identity/session";
import { Say, say } from "../../words";
import { ask, authorisation } from "./api";
import { nameOf, partsOf, wholeOf, type Part, type Ready, type Report } from "./health";
import { chosenMetrics, parseMetrics, type Metric } from "./metrics";
import { Figure } from "./parts";
import { SpeechCard } from "./SpeechCard";

const metricsPath = "/metrics";

interface Health {
  status: string;
  environment: string;
  database: string;
  uptime: number;
  version: string;
}

interface Seen {
  health: Health;
  ready: Ready;
  parts: Part[];
  metrics: Metric[];
}

async function look(session: Session): Promise<Seen> {
  const json = async <T,>(path: string) => (await (await fetch(path)).json()) as T;
  const [health, ready, report, metrics] = await Promise.all([
    json<Health>("/health"),
    json<Ready>("/ready"),
    ask<Report>(session, "/operator/health"),
    askText(session, metricsPath),
  ]);
  const parts = partsOf(report, ready);
  return { health, ready, parts, metrics: chosenMetrics(parseMetrics(metrics)) };
}

async function askText(session: Session, path: string): Promise<string> {
  const reply = await fetch(path, { headers: await authorisation(session) });
  return reply.ok ? reply.text() : "";
}

/** Whether it is well, what is wrong with which part since when, and how much it does. */
export function HealthView() {
  const session = useSession();
  const { data: seen, error } = useAsked({
    queryKey: ["health"],
    queryFn: () => look(session),
    refetchInterval: 5000,
  });
  return (
    <div className="stack" aria-busy={!seen && !error}>
      <Problem error={error} />
      {!seen && !error && <Skeleton lines={6} label={say("operator.lookingAtServer")} />}
      {seen && <Whole seen={seen} isOld={error !== ""} />}
    </div>
  );
}

/** What was seen last says nothing about now: old news is not green. */
function Whole({ seen, isOld }: { seen: Seen; isOld: boolean }) {
  const { health, ready, parts } = seen;
  const [whole, mood] = wholeOf(parts, ready, health.status);
  const shown = (is: "good" | "bad") => (isOld ? {} : { mood: is });
  const probe = `/ready/${parts.find((part) => part.isProbed)?.name ?? "…"}`;
  return (
    <>
      {isOld && <p className="soft small">{say("operator.seenLast")}</p>}
      <dl className="figures">
        <Figure label={say("operator.health")} value={whole} {...shown(mood)} />
        <Figure
          label={say("operator.traffic")}
          value={say(ready.ready ? "operator.ready" : "operator.notReady")}
          {...shown(ready.ready ? "good" : "bad")}
        />
        <Figure
          label={say("operator.database")}
          value={<span dir="auto">{health.database}</span>}
          {...shown(health.database === "connected" ? "good" : "bad")}
        />
        <Figure label={say("operator.upFor")} value={duration(health.uptime)} />
        <Figure label={say("operator.version")} value={<span dir="auto">{health.version}</span>} />
        <Figure
          label={say("operator.environment")}
          value={<span dir="auto">{health.environment}</span>}
        />
      </dl>
      <div className="grid">
        <section className="card">
          <h2>{say("operator.needs")}</h2>
          <ul className="plain checks" aria-label={say("operator.parts")}>
            {parts.map((part) => (
              <PartRow key={part.name} part={part} isOld={isOld} />
            ))}
          </ul>
          <p className="soft small">
            <Say id="operator.partsHint" values={{ path: <code dir="auto">{probe}</code> }} />
          </p>
        </section>
        <SpeechCard />
        <section className="card">
          <h2>{say("operator.does")}</h2>
          <dl className="ledger">
            {seen.metrics.map((m) => (
              <div key={m.name}>
                <dt>{say(m.title)}</dt>
                <dd>{number(m.value, { maximumFractionDigits: 1 })}</dd>
              </div>
            ))}
          </dl>
          <p className="soft small">
            <Say
              id="operator.allMetrics"
              values={{
                path: (
                  <a href={metricsPath} dir="auto">
                    {metricsPath}
                  </a>
                ),
              }}
            />
          </p>
        </section>
      </div>
    </>
  );
}

function PartRow({ part, isOld }: { part: Part; isOld: boolean }) {
  const dot = isOld ? "dot" : part.isWell ? "dot good" : "dot bad";
  return (
    <li>
      <div className="row spread">
        <span>
          <span className={dot} /> <span dir="auto">{nameOf(part)}</span>
          {part.weight === "needed" && (
            <span className="soft small"> {say("operator.needed")}</span>
          )}
        </span>
        {part.isWell && <span className="soft">{say("operator.ok")}</span>}
        {!part.isWell && part.causes.length === 0 && (
          <span className="bad">{say("operator.inTrouble")}</span>
        )}
      </div>
      {part.causes.map((cause) => (
        <p key={cause.text} className="cause">
          <span className="bad" dir="auto">
            {cause.text}
          </span>{" "}
          {cause.since && (
            <span className="soft small">
              <Say
                id="operator.since"
                values={{
                  clock: <time dateTime={cause.since}>{clock(cause.since)}</time>,
                  ago: ago(cause.since),
                }}
              />
            </span>
          )}
        </p>
      ))}
    </li>
  );
}

function clock(when: string): string {
  return moment(when, { hour: "2-digit", minute: "2-digit", hour12: false });
}
