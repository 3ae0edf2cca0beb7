import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useAsked, useDoing } from "../../shell/asked";
import Confirm from "../../shell/Confirm";
import { ago } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { Say, say } from "../../words";
import {
  addServer,
  authorizeAt,
  confirmAt,
  forgetAt,
  listServers,
  removeServer,
  type Authorization,
  type Server,
} from "./servers";

type Doing = ReturnType<typeof useDoing>;

/** MCP servers whose tools the oracle may use for whoever is signed in. */
export function ToolsView() {
  const session = useSession();
  const { data, error } = useAsked({
    queryKey: ["servers"],
    queryFn: () => listServers(session),
  });
  const doing = useDoing(["servers"]);
  const [link, setLink] = useState<Authorization>();
  return (
    <>
      <p className="soft">{say("connect.toolsWhat")}</p>
      <Problem error={doing.error || error} />
      {link && (
        <AuthorizeCard key={link.url} link={link} doing={doing} onDone={() => setLink(undefined)} />
      )}
      {data ? (
        <>
          {data.servers.map((server) => (
            <ServerCard key={server.name} server={server} doing={doing} own onLink={setLink} />
          ))}
          {data.shared.map((server) => (
            <ServerCard key={server.name} server={server} doing={doing} onLink={setLink} />
          ))}
          {data.servers.length + data.shared.length === 0 && (
            <p className="card soft">{say("connect.noServers")}</p>
          )}
        </>
      ) : (
        !error && <Skeleton lines={4} label={say("connect.askingServers")} />
      )}
      <AddForm doing={doing} onLink={setLink} />
    </>
  );
}

const states = {
  ready: "connect.ready",
  authorization: "connect.wantsAuthorization",
  failing: "connect.failing",
} as const;

/** Who let the oracle in there, and when. */
function authorized({ issuer, authorizedAt }: Server): string {
  if (!issuer) return authorizedAt ? ` ${ago(authorizedAt)}` : "";
  const by = authorizedAt
    ? say("connect.authorizedByAt", { issuer, when: ago(authorizedAt) })
    : say("connect.authorizedBy", { issuer });
  return ` · ${by}`;
}

function ServerCard(props: {
  server: Server;
  own?: boolean;
  doing: Doing;
  onLink: (link: Authorization) => void;
}) {
  const session = useSession();
  const { server, own, doing } = props;
  const [asked, setAsked] = useState(false);
  return (
    <section className="card" aria-label={server.name}>
      <div className="program-head">
        <h2 dir="auto">{server.name}</h2>
        <span className={server.state === "ready" ? "badge" : "badge low"}>
          {say(states[server.state])}
        </span>
      </div>
      {server.summary && <p dir="auto">{server.summary}</p>}
      <p className="soft small">
        <span className="mono" dir="auto">
          {server.url}
        </span>
        {!own && ` · ${say("connect.byOperator")}`}
        {authorized(server)}
      </p>
      {server.error && (
        <p className="notice bad" dir="auto">
          {server.error}
        </p>
      )}
      {server.tools.length > 0 && (
        <details>
          <summary>{say("connect.toolCount", { n: server.tools.length })}</summary>
          <ul className="plain tools">
            {server.tools.map((tool) => (
              <li key={tool.name}>
                <span className="mono" dir="auto">
                  {tool.name}
                </span>{" "}
                <span className="soft small">
                  {tool.asks
                    ? say("connect.toolAsks")
                    : tool.readOnly
                      ? say("connect.toolReads")
                      : say("connect.toolRuns")}
                </span>
                {tool.description && (
                  <p className="small" dir="auto">
                    {tool.description}
                  </p>
                )}
              </li>
            ))}
          </ul>
        </details>
      )}
      <div className="row">
        {server.state === "authorization" && (
          <button
            type="button"
            className="primary"
            disabled={doing.isBusy}
            aria-label={say("connect.authorizeAt", { name: server.name })}
            onClick={() =>
              doing.run(async () => props.onLink(await authorizeAt(session, server.name)))
            }
          >
            {say("connect.authorize")}
          </button>
        )}
        {server.authorizedAt && (
          <button
            type="button"
            disabled={doing.isBusy}
            aria-label={say("connect.forgetAuthorizationAt", { name: server.name })}
            onClick={() => doing.run(() => forgetAt(session, server.name))}
          >
            {say("connect.forgetAuthorization")}
          </button>
        )}
        {own && (
          <button
            type="button"
            disabled={doing.isBusy}
            aria-label={say("connect.removeOne", { name: server.name })}
            onClick={() => setAsked(true)}
          >
            {say("connect.remove")}
          </button>
        )}
      </div>
      {asked && (
        <Confirm
          title={say("connect.removeAsk", { name: server.name })}
          action={say("connect.remove")}
          onConfirm={() => doing.run(() => removeServer(session, server.name))}
          onClose={() => setAsked(false)}
        >
          {say("connect.removeHint")}
        </Confirm>
      )}
    </section>
  );
}

/** The way to another server and back: its page shows a code, which only the person sees. */
function AuthorizeCard(props: { link: Authorization; doing: Doing; onDone: () => void }) {
  const session = useSession();
  const { link, doing } = props;
  const [code, setCode] = useState("");
  function confirm(event: FormEvent) {
    event.preventDefault();
    doing.run(async () => {
      await confirmAt(session, link.server, code.trim());
      props.onDone();
    });
  }
  return (
    <section className="card" aria-label={say("connect.authorizeAt", { name: link.server })}>
      <h2>{say("connect.authorizeAt", { name: link.server })}</h2>
      <ol>
        <li>
          <Say
            id="connect.agreeThere"
            values={{ issuer: link.issuer }}
            tags={{
              link: (inside) => (
                <a href={link.url} target="_blank" rel="noopener noreferrer">
                  {inside}
                </a>
              ),
            }}
          />
        </li>
        <li>{say("connect.bringCode")}</li>
      </ol>
      <form className="row" onSubmit={confirm}>
        <label>
          {say("connect.code")}
          <input
            value={code}
            required
            autoComplete="off"
            onChange={(event) => setCode(event.target.value)}
          />
        </label>
        <button type="submit" className="primary" disabled={doing.isBusy}>
          {say("connect.itWasMe")}
        </button>
        <button type="button" onClick={props.onDone}>
          {say("connect.notNow")}
        </button>
      </form>
    </section>
  );
}

const exampleAddress = "https://tools.example.org/mcp";

const empty = { name: "", url: "", token: "", summary: "" };

function AddForm(props: { doing: Doing; onLink: (link: Authorization) => void }) {
  const session = useSession();
  const [entry, setEntry] = useState(empty);
  function add(event: FormEvent) {
    event.preventDefault();
    props.doing.run(async () => {
      const { token, summary, ...rest } = entry;
      const made = await addServer(session, {
        ...rest,
        ...(token && { token }),
        ...(summary && { summary }),
      });
      setEntry(empty);
      if (made.authorization) props.onLink(made.authorization);
    });
  }
  const field = (name: keyof typeof empty) => ({
    value: entry[name],
    onChange: (event: { target: { value: string } }) =>
      setEntry({ ...entry, [name]: event.target.value }),
  });
  return (
    <section className="card" aria-label={say("connect.addServer")}>
      <h2>{say("connect.addServer")}</h2>
      <form className="stack" onSubmit={add}>
        <label>
          {say("connect.name")}
          <input
            {...field("name")}
            required
            maxLength={31}
            pattern="[a-z0-9][a-z0-9\-]*"
            title={say("connect.serverNameHint")}
          />
        </label>
        <label>
          {say("connect.address")}
          <input {...field("url")} type="url" required placeholder={exampleAddress} />
        </label>
        <label>
          {say("connect.token")} <span className="soft small">{say("connect.tokenHint")}</span>
          <input {...field("token")} type="password" autoComplete="off" />
        </label>
        <label>
          {say("connect.purpose")} <span className="soft small">{say("connect.purposeHint")}</span>
          <input {...field("summary")} maxLength={300} />
        </label>
        <div>
          <button type="submit" className="primary" disabled={props.doing.isBusy}>
            {say("connect.add")}
          </button>
        </div>
      </form>
    </section>
  );
}
