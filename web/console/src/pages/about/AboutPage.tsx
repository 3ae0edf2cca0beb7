import { useState } from "react";
import { useOraclesContext } from "@castalia/oracles-client";
import { useConsent, withdraw } from "../../identity/consent";
import { useSession } from "../../identity/session";
import { forgetKey, type KeptKey } from "../../identity/vault";
import { useAsked, useDoing } from "../../shell/asked";
import Confirm from "../../shell/Confirm";
import { CopyButton } from "../../shell/CopyButton";
import { ago, duration } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { KeyCopy } from "./KeyCopy";

interface Health {
  status: string;
  environment: string;
  database: string;
  uptime: number;
  version: string;
}

/** Who you are, what you talk to, and how it is. */
export default function AboutPage(props: { onKey: (key: KeptKey) => void; onSignOut: () => void }) {
  const { key, serviceDid } = useSession();
  const { data: health } = useAsked({
    queryKey: ["health"],
    queryFn: async () => (await (await fetch("/health")).json()) as Health,
  });
  const [leaving, setLeaving] = useState(false);
  return (
    <div className="page">
      <h1>About</h1>
      <p className="soft">Your identity in this browser, and the server behind it.</p>
      <div className="about">
        <div className="stack">
          <section className="card">
            <h2>You</h2>
            <dl className="facts">
              <dt>DID</dt>
              <dd className="mono with-copy">
                <span>{key.did}</span>
                <CopyButton text={key.did} label="Copy your DID" />
              </dd>
            </dl>
            <KeyCopy kept={key} onKey={props.onKey} onSignOut={() => setLeaving(true)} />
          </section>
          {leaving && (
            <Confirm
              title="Sign out?"
              action="Sign out"
              onConfirm={() => void forgetKey().then(props.onSignOut)}
              onClose={() => setLeaving(false)}
            >
              This browser forgets the key. Without a saved copy this identity is lost, with its
              files and conversations.
            </Confirm>
          )}
          <Allowed />
        </div>
        <section className="card" aria-busy={!health}>
          <h2>This server</h2>
          <dl className="facts">
            <dt>DID</dt>
            <dd className="mono">{serviceDid}</dd>
            <dt>Health</dt>
            <dd>
              {health ? (
                <span className={health.status === "ok" ? "good" : "bad"}>
                  {health.status}, database {health.database}
                </span>
              ) : (
                "asking…"
              )}
            </dd>
            {health && (
              <>
                <dt>Environment</dt>
                <dd>{health.environment}</dd>
                <dt>Up for</dt>
                <dd>{duration(health.uptime)}</dd>
                <dt>Version</dt>
                <dd>{health.version}</dd>
              </>
            )}
          </dl>
          <p>
            <a href="/guides">Guides</a>
          </p>
          <p>
            <a href="/docs">Documentation of every route</a>
          </p>
        </section>
      </div>
    </div>
  );
}

/** What the oracle may do in the user's name, and how to take it back. */
function Allowed() {
  const session = useSession();
  const { authedRequest } = useOraclesContext();
  const { consent } = useConsent(session);
  const { run, error } = useDoing();
  const takeBack = () =>
    run(async () => {
      await authedRequest(`${location.origin}/delegation`, "DELETE", {
        oracleDid: session.serviceDid,
      });
      withdraw(session);
      // What the page still holds of the old delegation goes with it.
      location.reload();
    });
  return (
    <section className="card">
      <h2>What the oracle may do</h2>
      {consent ? (
        <>
          <p>
            It may {consent.grant === "read" ? "read" : "read and change"} your files in your name.
            This ends {ago(consent.until)}.
          </p>
          <button type="button" className="danger" onClick={() => takeBack()}>
            Take it back
          </button>
        </>
      ) : (
        <p className="soft">
          It may talk with you, and touch none of your files. It asks in the chat when it needs
          them.
        </p>
      )}
      <Problem error={error} />
    </section>
  );
}
