import { useEffect, useMemo, useState, type FormEvent } from "react";
import { CopyButton } from "../../shell/CopyButton";

interface OpenApi {
  paths: Record<
    string,
    { get?: { summary?: string; parameters?: { name: string; in: string }[] } }
  >;
}

interface Route {
  path: string;
  summary: string;
  fields: { name: string; in: string }[];
}

const own =
  /^\/(api|sessions|messages|runs|delegation|models|docs|socket|mcp|public|metrics|ready|health|\.well-known|memory|claims|credits|user-|teamchat|calls|query)|^\/$/;

/** Protocol queries: pick a route, fill it in, see the reply. */
export function QueryPage() {
  const [routes, setRoutes] = useState<Route[]>([]);
  const [path, setPath] = useState("");
  const [values, setValues] = useState<Record<string, string>>({});
  const [reply, setReply] = useState<{ status: number; text: string; height: string | null }>();
  useEffect(() => {
    fetch("/docs-json")
      .then((r) => r.json() as Promise<OpenApi>)
      .then((doc) => {
        const found = Object.entries(doc.paths)
          .filter(([p, item]) => item.get && !own.test(p))
          .map(([p, item]) => ({
            path: p,
            summary: item.get?.summary ?? "",
            fields: (item.get?.parameters ?? []).filter((f) => f.in === "path" || f.in === "query"),
          }));
        setRoutes(found);
        setPath(found.find((r) => r.path.endsWith("/token/params"))?.path ?? found[0]?.path ?? "");
      })
      .catch(() => undefined);
  }, []);
  const route = routes.find((r) => r.path === path);
  const address = useMemo(() => {
    if (!route) return "";
    const query = new URLSearchParams();
    let filled = route.path;
    for (const field of route.fields) {
      const value = values[field.name] ?? "";
      if (field.in === "path")
        filled = filled.replace(`{${field.name}}`, encodeURIComponent(value));
      else if (value) query.set(field.name, value);
    }
    return filled + (query.size > 0 ? `?${query}` : "");
  }, [route, values]);
  const curl = `curl -s '${location.origin}${address}'`;

  async function ask(event: FormEvent) {
    event.preventDefault();
    const answer = await fetch(address);
    const text = await answer.text();
    let shown = text;
    try {
      shown = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      // Shown as it came.
    }
    setReply({
      status: answer.status,
      text: shown,
      height: answer.headers.get("X-Cosmos-Block-Height"),
    });
  }
  return (
    <div className="page">
      <h1>Query</h1>
      <p className="soft">
        What the chain knows, over HTTP. {routes.length} routes are served here.
      </p>
      <form className="card stack" onSubmit={(event) => void ask(event)}>
        <label>
          Route
          <select
            value={path}
            onChange={(event) => {
              setPath(event.target.value);
              setReply(undefined);
            }}
          >
            {routes.map((r) => (
              <option key={r.path}>{r.path}</option>
            ))}
          </select>
        </label>
        {route?.summary && <p className="soft">{route.summary}</p>}
        <div className="grid">
          {route?.fields.map((field) => (
            <label key={field.name}>
              {field.name} {field.in === "path" && <span className="soft">(in the path)</span>}
              <input
                value={values[field.name] ?? ""}
                onChange={(event) => setValues({ ...values, [field.name]: event.target.value })}
              />
            </label>
          ))}
        </div>
        <div className="row">
          <button className="primary" type="submit" disabled={!route}>
            Ask
          </button>
          <code className="curl">{curl}</code>
          <CopyButton text={curl} label="Copy the curl line" />
        </div>
      </form>
      {reply && (
        <section className="card" aria-live="polite">
          <h2>
            <span className={reply.status < 300 ? "good" : "bad"}>{reply.status}</span>{" "}
            {reply.height && <span className="soft">at height {reply.height}</span>}
          </h2>
          <pre>{reply.text}</pre>
        </section>
      )}
    </div>
  );
}
