import { useAsked } from "../../shell/asked";
import { ago, duration } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { useSession, type Session } from "../../identity/session";
import { ask, authorisation } from "./api";
import { partsOf, wholeOf, type Part, type Ready, type Report } from "./health";
import { chosenMetrics, parseMetrics, type Metric } from "./metrics";
import { Figure } from "./parts";
import { SpeechCard } from "./SpeechCard";

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
    askText(session, "/metrics"),
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
      {!seen && !error && <Skeleton lines={6} label="Looking at the server" />}
      {seen && <Whole seen={seen} isOld={error !== ""} />}
    </div>
  );
}

/** What was seen last says nothing about now: old news is not green. */
function Whole({ seen, isOld }: { seen: Seen; isOld: boolean }) {
  const { health, ready, parts } = seen;
  const [whole, mood] = wholeOf(parts, ready, health.status);
  const shown = (is: "good" | "bad") => (isOld ? {} : { mood: is });
  return (
    <>
      {isOld && <p className="soft small">Below is what was seen last.</p>}
      <dl className="figures">
        <Figure label="Health" value={whole} {...shown(mood)} />
        <Figure
          label="Traffic"
          value={ready.ready ? "ready" : "not ready"}
          {...shown(ready.ready ? "good" : "bad")}
        />
        <Figure
          label="Database"
          value={health.database}
          {...shown(health.database === "connected" ? "good" : "bad")}
        />
        <Figure label="Up for" value={duration(health.uptime)} />
        <Figure label="Version" value={health.version} />
        <Figure label="Environment" value={health.environment} />
      </dl>
      <div className="grid">
        <section className="card">
          <h2>What it needs</h2>
          <ul className="plain checks" aria-label="Parts">
            {parts.map((part) => (
              <PartRow key={part.name} part={part} isOld={isOld} />
            ))}
          </ul>
          <p className="soft small">
            A node gets no requests while a part is in trouble that it needs; other parts fail
            alone. Platforms ask for one of them at{" "}
            <code>/ready/{parts.find((part) => part.isProbed)?.name ?? "…"}</code>.
          </p>
        </section>
        <SpeechCard />
        <section className="card">
          <h2>What it does</h2>
          <dl className="ledger">
            {seen.metrics.map((m) => (
              <div key={m.name}>
                <dt>{m.title}</dt>
                <dd>{m.value.toLocaleString("en", { maximumFractionDigits: 1 })}</dd>
              </div>
            ))}
          </dl>
          <p className="soft small">
            All of it is at <a href="/metrics">/metrics</a>.
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
          <span className={dot} /> {part.name}
          {part.weight === "needed" && <span className="soft small"> needed</span>}
        </span>
        {part.isWell && <span className="soft">ok</span>}
        {!part.isWell && part.causes.length === 0 && <span className="bad">in trouble</span>}
      </div>
      {part.causes.map((cause) => (
        <p key={cause.text} className="cause">
          <span className="bad">{cause.text}</span>{" "}
          {cause.since && (
            <span className="soft small">
              since <time dateTime={cause.since}>{clock(cause.since)}</time>, {ago(cause.since)}
            </span>
          )}
        </p>
      ))}
    </li>
  );
}

const hours = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hour12: false });

function clock(when: string): string {
  const at = new Date(when);
  return Number.isNaN(at.getTime()) ? when : hours.format(at);
}
