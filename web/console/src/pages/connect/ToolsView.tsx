import { useState, type FormEvent } from "react";
import { useSession } from "../../identity/session";
import { useAsked, useDoing } from "../../shell/asked";
import Confirm from "../../shell/Confirm";
import { ago, plural } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
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
      <p className="soft">
        MCP servers whose tools the oracle may use when you ask it something. Yours are used for you
        alone.
      </p>
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
            <p className="card soft">The oracle uses no server for you yet.</p>
          )}
        </>
      ) : (
        !error && <Skeleton lines={4} label="Asking the servers" />
      )}
      <AddForm doing={doing} onLink={setLink} />
    </>
  );
}

const states = {
  ready: "Ready",
  authorization: "Wants your authorization",
  failing: "Not usable now",
};

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
        <h2>{server.name}</h2>
        <span className={server.state === "ready" ? "badge" : "badge low"}>
          {states[server.state]}
        </span>
      </div>
      {server.summary && <p>{server.summary}</p>}
      <p className="soft small">
        <span className="mono">{server.url}</span>
        {!own && " · set up by the operator, for everybody"}
        {server.issuer && ` · authorized by ${server.issuer}`}
        {server.authorizedAt && ` ${ago(server.authorizedAt)}`}
      </p>
      {server.error && <p className="notice bad">{server.error}</p>}
      {server.tools.length > 0 && (
        <details>
          <summary>{plural(server.tools.length, "tool")}</summary>
          <ul className="plain tools">
            {server.tools.map((tool) => (
              <li key={tool.name}>
                <span className="mono">{tool.name}</span>{" "}
                <span className="soft small">
                  {tool.asks
                    ? "asks you before every call"
                    : tool.readOnly
                      ? "only reads, by its own account"
                      : "runs without asking"}
                </span>
                {tool.description && <p className="small">{tool.description}</p>}
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
            aria-label={`Authorize at ${server.name}`}
            onClick={() =>
              doing.run(async () => props.onLink(await authorizeAt(session, server.name)))
            }
          >
            Authorize
          </button>
        )}
        {server.authorizedAt && (
          <button
            type="button"
            disabled={doing.isBusy}
            aria-label={`Forget the authorization at ${server.name}`}
            onClick={() => doing.run(() => forgetAt(session, server.name))}
          >
            Forget the authorization
          </button>
        )}
        {own && (
          <button
            type="button"
            disabled={doing.isBusy}
            aria-label={`Remove ${server.name}`}
            onClick={() => setAsked(true)}
          >
            Remove
          </button>
        )}
      </div>
      {asked && (
        <Confirm
          title={`Remove ${server.name}?`}
          action="Remove"
          onConfirm={() => doing.run(() => removeServer(session, server.name))}
          onClose={() => setAsked(false)}
        >
          The oracle forgets it, and the tokens that it has for it.
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
    <section className="card" aria-label={`Authorize at ${link.server}`}>
      <h2>Authorize at {link.server}</h2>
      <ol>
        <li>
          <a href={link.url} target="_blank" rel="noopener noreferrer">
            Open {link.issuer}
          </a>{" "}
          and agree there.
        </li>
        <li>Bring back the code that the last page shows:</li>
      </ol>
      <form className="row" onSubmit={confirm}>
        <label>
          Code
          <input
            value={code}
            required
            autoComplete="off"
            onChange={(event) => setCode(event.target.value)}
          />
        </label>
        <button type="submit" className="primary" disabled={doing.isBusy}>
          It was me
        </button>
        <button type="button" onClick={props.onDone}>
          Not now
        </button>
      </form>
    </section>
  );
}

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
    <section className="card" aria-label="Add a server">
      <h2>Add a server</h2>
      <form className="stack" onSubmit={add}>
        <label>
          Name
          <input
            {...field("name")}
            required
            maxLength={31}
            pattern="[a-z0-9][a-z0-9\-]*"
            title="Lower-case letters, digits and dashes"
          />
        </label>
        <label>
          Address
          <input
            {...field("url")}
            type="url"
            required
            placeholder="https://tools.example.org/mcp"
          />
        </label>
        <label>
          Token <span className="soft small">if it was given to you; leave it empty otherwise</span>
          <input {...field("token")} type="password" autoComplete="off" />
        </label>
        <label>
          What it is for <span className="soft small">tells the oracle when to use it</span>
          <input {...field("summary")} maxLength={300} />
        </label>
        <div>
          <button type="submit" className="primary" disabled={props.doing.isBusy}>
            Add
          </button>
        </div>
      </form>
    </section>
  );
}
