import { useCallback, useEffect, useState } from "react";

interface Step {
  screen: string;
  shown: number;
  left: number;
  dropOff: number;
}

interface QueryStatus {
  [key: string]: unknown;
}

interface View {
  sessions: string[];
  funnel: Step[];
  query: QueryStatus | undefined;
}

const tokenKey = "castalia-operator-token";

/** What the person who runs this server wants to see. */
export function OperatorPage() {
  const [token, setToken] = useState(() => sessionStorage.getItem(tokenKey) ?? "");
  const [view, setView] = useState<View>();
  const [error, setError] = useState("");

  const load = useCallback(async () => {
    const headers = token ? { Authorization: `Bearer ${token}` } : undefined;
    const ask = async <T,>(path: string): Promise<T> => {
      const reply = await fetch(path, headers ? { headers } : {});
      if (!reply.ok) throw new Error(String(reply.status));
      return (await reply.json()) as T;
    };
    try {
      const [live, funnel, query] = await Promise.all([
        ask<{ activeSessions: string[] }>("/api/ussd/sessions"),
        ask<{ steps: Step[] }>("/api/ussd/funnel"),
        ask<QueryStatus>("/query/status").catch(() => undefined),
      ]);
      setView({
        sessions: live.activeSessions,
        funnel: funnel.steps.filter((s) => s.shown > 0).sort((a, b) => b.shown - a.shown),
        query,
      });
      setError("");
    } catch {
      setView(undefined);
      setError(
        "These pages are for the operator: from this machine, or with the operator's token.",
      );
    }
  }, [token]);
  useEffect(() => {
    // eslint-disable-next-line react-hooks/set-state-in-effect -- the figures live at the server
    void load();
    const timer = setInterval(() => void load(), 10_000);
    return () => clearInterval(timer);
  }, [load]);

  return (
    <div className="page">
      <h1>Operator</h1>
      <p className="soft">Telephone sessions, where callers leave, and the query nodes.</p>
      {error && (
        <form className="card stack" onSubmit={(event) => event.preventDefault()}>
          <p>{error}</p>
          <label>
            Operator token
            <input
              type="password"
              autoComplete="off"
              value={token}
              onChange={(event) => {
                sessionStorage.setItem(tokenKey, event.target.value);
                setToken(event.target.value);
              }}
            />
          </label>
        </form>
      )}
      {view && (
        <div className="grid">
          <section className="card">
            <h2>
              Live telephone sessions <span className="badge">{view.sessions.length}</span>
            </h2>
            <ul className="plain mono">
              {view.sessions.slice(0, 50).map((id) => (
                <li key={id}>{id}</li>
              ))}
            </ul>
          </section>
          <section className="card">
            <h2>Where callers go, and leave</h2>
            {view.funnel.length === 0 && <p className="soft">No calls in the last seven days.</p>}
            {view.funnel.map((step) => (
              <div key={step.screen} className="bar-row">
                <span>{step.screen}</span>
                <meter min={0} max={view.funnel[0]?.shown ?? 1} value={step.shown}>
                  {step.shown}
                </meter>
                <span className="soft">
                  {step.shown} shown, {Math.round(step.dropOff * 100)}% left
                </span>
              </div>
            ))}
          </section>
          <section className="card">
            <h2>Query nodes</h2>
            <pre>
              {view.query ? JSON.stringify(view.query, null, 2) : "not served by this node"}
            </pre>
          </section>
        </div>
      )}
    </div>
  );
}
