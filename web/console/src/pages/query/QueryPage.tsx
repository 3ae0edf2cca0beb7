import { Fragment, useEffect, useMemo, useRef, useState, type FormEvent } from "react";
import { useAsked, useDoing } from "../../shell/asked";
import { CopyButton } from "../../shell/CopyButton";
import { Icon } from "../../shell/icons";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { labelsNow, Say, say } from "../../words";
import "./query.css";
import {
  curlOf,
  findRoutes,
  linked,
  queryRoutes,
  requestOf,
  type OpenApi,
  type Request,
  type Route,
} from "./routes";

/** How every route is asked. */
const method = "GET";

interface Reply {
  status: number;
  text: string;
  height: string | null;
  cache: string | null;
  ms: number;
}

/** Protocol queries: pick a route, fill it in, see the reply. */
export default function QueryPage() {
  const { data: routes, error } = useAsked({
    queryKey: ["routes"],
    queryFn: async () => {
      const reply = await fetch("/docs-json");
      return queryRoutes((await reply.json()) as OpenApi);
    },
    staleTime: Infinity,
  });
  const [search, setSearch] = useState("");
  const [picked, setPicked] = useState<string>();
  const [asked] = useState(location.search);
  const filled = useMemo(() => linked(routes ?? [], asked), [routes, asked]);
  const first = routes?.find((r) => r.path.endsWith("/token/params")) ?? routes?.[0];
  const path = picked ?? filled?.path ?? first?.path ?? "";
  const shown = useMemo(() => findRoutes(routes ?? [], search), [routes, search]);
  const route = routes?.find((r) => r.path === path);
  return (
    <div className="page">
      <header className="page-head">
        <div>
          <h1>{say("shell.query")}</h1>
          <p className="soft">
            {routes ? say("query.whatServed", { n: routes.length }) : say("query.what")}
          </p>
        </div>
      </header>
      <Problem error={error} />
      <div className="query-layout">
        <section
          className="card routes"
          aria-label={say("query.routes")}
          aria-busy={!routes && !error}
        >
          <label className="field-icon">
            <span className="visually-hidden">{say("query.findRoute")}</span>
            <Icon name="search" />
            <input
              type="search"
              data-entry
              placeholder={say("query.findRoute")}
              value={search}
              onChange={(event) => setSearch(event.target.value)}
              onKeyDown={(event) => {
                if (event.key !== "ArrowDown") return;
                event.preventDefault();
                document.getElementById("routes")?.focus();
              }}
            />
          </label>
          {!routes && !error ? (
            <Skeleton lines={8} label={say("query.reading")} />
          ) : (
            <RouteList routes={shown} current={path} onPick={setPicked} />
          )}
        </section>
        {route && (
          <Explorer
            key={route.path}
            route={route}
            filled={filled?.path === path ? filled.values : {}}
          />
        )}
      </div>
    </div>
  );
}

/** A list box: arrows move, typing in the field above narrows it. */
function RouteList(props: { routes: Route[]; current: string; onPick: (path: string) => void }) {
  const { routes, current } = props;
  const list = useRef<HTMLDivElement>(null);
  const at = Math.max(
    0,
    routes.findIndex((r) => r.path === current),
  );
  function move(step: number) {
    const next = routes[Math.min(routes.length - 1, Math.max(0, at + step))];
    if (!next) return;
    props.onPick(next.path);
  }
  // The one that is shown is in sight, also when it was not picked here.
  useEffect(() => {
    const box = list.current;
    const chosen = box?.querySelector<HTMLElement>('[aria-selected="true"]');
    if (!box || !chosen) return;
    const top = chosen.offsetTop - box.offsetTop;
    if (top < box.scrollTop || top + chosen.offsetHeight > box.scrollTop + box.clientHeight) {
      box.scrollTop = top - box.clientHeight / 3;
    }
  }, [current, routes]);
  if (routes.length === 0) {
    return (
      <p className="soft small centre no-route" role="status">
        {say("query.noSuchRoute")}
      </p>
    );
  }
  return (
    <div
      ref={list}
      id="routes"
      className="route-list"
      role="listbox"
      aria-label={say("query.routes")}
      tabIndex={0}
      aria-activedescendant={`route-${at}`}
      onKeyDown={(event) => {
        const { length } = routes;
        const step = {
          ArrowDown: 1,
          ArrowUp: -1,
          PageDown: 8,
          PageUp: -8,
          Home: -length,
          End: length,
        }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        // The first key picks the first of what was found, when the one shown is not among it.
        move(routes.some((r) => r.path === current) ? step : 0);
      }}
    >
      {routes.map((r, i) => (
        <div
          key={r.path}
          id={`route-${i}`}
          role="option"
          aria-selected={r.path === current}
          onClick={() => props.onPick(r.path)}
        >
          <strong dir="auto">{r.title}</strong>
          <span className="mono small" dir="auto">
            <PathText path={r.path} />
          </span>
        </div>
      ))}
    </div>
  );
}

/** A path that breaks after its slashes rather than inside a word. */
function PathText({ path }: { path: string }) {
  return path.split(/(?<=\/)/).map((part, i) => (
    <Fragment key={i}>
      {part}
      <wbr />
    </Fragment>
  ));
}

function Explorer({ route, filled }: { route: Route; filled: Record<string, string> }) {
  const [values, setValues] = useState(filled);
  const [reply, setReply] = useState<Reply>();
  const { run, isBusy, error } = useDoing();
  const answer = useRef<HTMLElement>(null);
  // On a narrow screen the reply is below the form: its beginning comes into sight.
  useEffect(() => {
    if (reply) answer.current?.scrollIntoView({ block: "nearest" });
  }, [reply]);
  const request = requestOf(route, values);
  const curl = curlOf(location.origin, request);
  const main = route.fields.filter((f) => f.in === "path");
  const more = route.fields.filter((f) => f.in !== "path");

  function ask(event: FormEvent) {
    event.preventDefault();
    run(async () => {
      try {
        setReply(await send(request));
      } catch (cause) {
        setReply(undefined);
        throw cause;
      }
    });
  }
  const field = (f: Route["fields"][number]) => (
    <label key={f.name}>
      <span dir="auto">
        {f.name} {f.in !== "path" && <span className="small">({f.in})</span>}
      </span>
      {f.schema?.type === "boolean" || f.schema?.enum ? (
        <select
          value={values[f.name] ?? ""}
          onChange={(event) => setValues({ ...values, [f.name]: event.target.value })}
        >
          <option value="">–</option>
          {(f.schema.enum ?? ["true", "false"]).map((v) => (
            <option key={v} dir="auto">
              {v}
            </option>
          ))}
        </select>
      ) : (
        <input
          value={values[f.name] ?? ""}
          inputMode={f.schema?.format?.includes("int") ? "numeric" : "text"}
          onChange={(event) => setValues({ ...values, [f.name]: event.target.value })}
        />
      )}
    </label>
  );
  return (
    <div className="stack explorer">
      <form className="card stack" onSubmit={ask}>
        <div>
          <h2 dir="auto">{route.title}</h2>
          <p className="mono route-line" dir="ltr">
            <span className="badge">{method}</span>
            <span>
              <PathText path={route.path} />
            </span>
          </p>
          <p className="soft small" dir="auto">
            {route.about}
          </p>
        </div>
        {main.length > 0 && <div className="grid">{main.map(field)}</div>}
        {more.length > 0 && (
          <details open={main.length === 0 && more.length < 4}>
            <summary className="soft">{say("query.moreFields", { n: more.length })}</summary>
            <div className="grid more-fields">{more.map(field)}</div>
          </details>
        )}
        <div className="curl-row">
          <code className="curl" dir="ltr">
            {curl}
          </code>
          <CopyButton text={curl} label={say("query.copyCurl")} />
        </div>
        <div className="row">
          <button className="primary" type="submit" disabled={isBusy || request.missing.length > 0}>
            {isBusy ? say("query.asking") : labelsNow().ask}
          </button>
          {request.missing.length > 0 && (
            <span className="soft small">
              {say("query.needs", { fields: request.missing.join(", ") })}
            </span>
          )}
        </div>
      </form>
      <Problem error={error} />
      {!reply && !error && <p className="soft small centre hint">{say("query.hint")}</p>}
      {reply && (
        <section ref={answer} className="card" aria-label={say("query.reply")}>
          <div className="row spread nowrap">
            <p className="reply-head" role="status">
              <span className={reply.status < 300 ? "badge good" : "badge bad"}>
                <Say
                  id="query.answered"
                  values={{ status: reply.status }}
                  tags={{ hidden: (inside) => <span className="visually-hidden">{inside}</span> }}
                />
              </span>
              <span className="soft small">
                {say("shell.milliseconds", { n: Math.round(reply.ms) })}
                {reply.height && ` · ${say("query.height", { height: reply.height })}`}
                {reply.cache && ` · ${say("query.cache", { cache: reply.cache })}`}
              </span>
            </p>
            <CopyButton text={reply.text} label={say("query.copyReply")} />
          </div>
          <pre
            className="reply"
            role="region"
            aria-label={say("query.whatWasAnswered")}
            dir="ltr"
            tabIndex={0}
          >
            {reply.text}
          </pre>
        </section>
      )}
    </div>
  );
}

async function send(request: Request): Promise<Reply> {
  const began = performance.now();
  const answer = await fetch(request.address, { headers: request.headers });
  const text = await answer.text();
  return {
    status: answer.status,
    text: indented(text),
    height: answer.headers.get("x-cosmos-block-height"),
    cache: answer.headers.get("x-cache"),
    ms: performance.now() - began,
  };
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
