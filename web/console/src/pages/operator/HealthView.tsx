import { useEffect, useState } from "react";
import { duration, messageOf } from "../../shell/format";
import { Skeleton } from "../../shell/Skeleton";
import { useSession, type Session } from "../../identity/session";
import { authorisation } from "./api";
import { chosenMetrics, parseMetrics, type Metric } from "./metrics";
import { Figure, Problem } from "./parts";

interface Health {
  status: string;
  environment: string;
  database: string;
  uptime: number;
  version: string;
}

interface Seen {
  health: Health;
  ready: { ready: boolean; checks: Record<string, string> };
  metrics: Metric[];
}

async function look(session: Session): Promise<Seen> {
  const json = async <T,>(path: string) => (await (await fetch(path)).json()) as T;
  const [health, ready, metrics] = await Promise.all([
    json<Health>("/health"),
    json<Seen["ready"]>("/ready"),
    askText(session, "/metrics"),
  ]);
  return { health, ready, metrics: chosenMetrics(parseMetrics(metrics)) };
}

async function askText(session: Session, path: string): Promise<string> {
  const reply = await fetch(path, { headers: await authorisation(session) });
  return reply.ok ? reply.text() : "";
}

/** Whether it is well, what it waits for, and how much it does. */
export function HealthView() {
  const session = useSession();
  const [seen, setSeen] = useState<Seen>();
  const [error, setError] = useState("");
  useEffect(() => {
    let gone = false;
    const run = () =>
      void look(session).then(
        (found) => {
          if (!gone) {
            setSeen(found);
            setError("");
          }
        },
        (cause: unknown) => setError(messageOf(cause)),
      );
    run();
    const timer = setInterval(() => {
      if (!document.hidden) run();
    }, 5000);
    return () => {
      gone = true;
      clearInterval(timer);
    };
  }, [session]);
  return (
    <div className="stack" aria-busy={!seen && !error}>
      <Problem error={error} />
      {!seen && !error && <Skeleton lines={6} label="Looking at the server" />}
      {seen && (
        <>
          <dl className="figures">
            <Figure
              label="Health"
              value={seen.health.status}
              mood={seen.health.status === "ok" ? "good" : "bad"}
            />
            <Figure
              label="Traffic"
              value={seen.ready.ready ? "ready" : "not ready"}
              mood={seen.ready.ready ? "good" : "bad"}
            />
            <Figure
              label="Database"
              value={seen.health.database}
              mood={seen.health.database === "connected" ? "good" : "bad"}
            />
            <Figure label="Up for" value={duration(seen.health.uptime)} />
            <Figure label="Version" value={seen.health.version} />
            <Figure label="Environment" value={seen.health.environment} />
          </dl>
          <div className="grid">
            <section className="card">
              <h2>What it needs</h2>
              <ul className="plain checks">
                {Object.entries(seen.ready.checks).map(([name, state]) => (
                  <li key={name} className="row spread">
                    <span>
                      <span className={state === "ok" ? "dot good" : "dot bad"} /> {name}
                    </span>
                    <span className={state === "ok" ? "soft" : "bad path-cell"}>{state}</span>
                  </li>
                ))}
              </ul>
            </section>
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
      )}
    </div>
  );
}
