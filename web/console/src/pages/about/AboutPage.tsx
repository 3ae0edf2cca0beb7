import { useState } from "react";
import { useOraclesContext } from "@castalia/oracles-client";
import { useConsent, withdraw } from "../../identity/consent";
import { useSession } from "../../identity/session";
import { forgetKey, type KeptKey } from "../../identity/vault";
import { useAsked, useDoing } from "../../shell/asked";
import Confirm from "../../shell/Confirm";
import { CopyButton } from "../../shell/CopyButton";
import { useFeatures } from "../../shell/features";
import { ago, duration } from "../../shell/format";
import { LanguageMenu } from "../../shell/LanguageMenu";
import { Problem } from "../../shell/Problem";
import { KeyCopy } from "./KeyCopy";
import { LostKeyCard } from "./LostKeyCard";
import { TelephonesCard } from "./TelephonesCard";
import { say } from "../../words";

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
  const { services } = useFeatures();
  const { data: health } = useAsked({
    queryKey: ["health"],
    queryFn: async () => (await (await fetch("/health")).json()) as Health,
  });
  const [leaving, setLeaving] = useState(false);
  return (
    <div className="page">
      <h1>{say("shell.about")}</h1>
      <p className="soft">{say("about.what")}</p>
      <div className="about">
        <div className="stack">
          <section className="card">
            <h2>{say("about.you")}</h2>
            <dl className="facts">
              <dt>{say("about.did")}</dt>
              <dd className="mono with-copy">
                <span>{key.did}</span>
                <CopyButton text={key.did} label={say("about.copyDid")} />
              </dd>
            </dl>
            <KeyCopy kept={key} onKey={props.onKey} onSignOut={() => setLeaving(true)} />
          </section>
          {leaving && (
            <Confirm
              title={say("about.signOutAsk")}
              action={say("about.signOut")}
              onConfirm={() => void forgetKey().then(props.onSignOut)}
              onClose={() => setLeaving(false)}
            >
              {say("about.signOutHint")}
            </Confirm>
          )}
          {services.includes("ussd") && <TelephonesCard />}
          {services.includes("ussd") && <LostKeyCard />}
          <Allowed />
          <LanguageMenu />
        </div>
        <section className="card" aria-busy={!health}>
          <h2>{say("about.server")}</h2>
          <dl className="facts">
            <dt>{say("about.did")}</dt>
            <dd className="mono">{serviceDid}</dd>
            <dt>{say("about.health")}</dt>
            <dd>
              {health ? (
                <span className={health.status === "ok" ? "good" : "bad"}>
                  {say("about.healthIs", { status: health.status, database: health.database })}
                </span>
              ) : (
                say("about.asking")
              )}
            </dd>
            {health && (
              <>
                <dt>{say("about.environment")}</dt>
                <dd translate="no">{health.environment}</dd>
                <dt>{say("about.upFor")}</dt>
                <dd>{duration(health.uptime)}</dd>
                <dt>{say("about.version")}</dt>
                <dd translate="no">{health.version}</dd>
              </>
            )}
          </dl>
          <p>
            <a href="/guides">{say("about.guides")}</a>
          </p>
          <p>
            <a href="/docs">{say("about.documentation")}</a>
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
      <h2>{say("about.allowed")}</h2>
      {consent ? (
        <>
          <p>{say("about.mayUseFiles", { grant: consent.grant, when: ago(consent.until) })}</p>
          <button type="button" className="danger" onClick={() => takeBack()}>
            {say("about.takeBack")}
          </button>
        </>
      ) : (
        <p className="soft">{say("about.mayTalk")}</p>
      )}
      <Problem error={error} />
    </section>
  );
}
