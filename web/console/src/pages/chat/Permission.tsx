import { useOraclesContext } from "@castalia/oracles-client";
import { useEffect, useState } from "react";
import { allow, decline, reconsider, useConsent, type Grant } from "../../identity/consent";
import { useSession } from "../../identity/session";
import { ago, messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { labelsNow, Say, say } from "../../words";
import { here } from "./here";

/**
 * Asks before the oracle may touch the user's files, when they are needed: for
 * what is attached, or by a turn that waits. Nothing is signed until the user says
 * yes here, and the turn then goes on by itself. That the oracle would take a
 * delegation (X-Delegation-Required) is no reason to ask: it says so every time.
 */
export function Permission(props: { wanted: boolean; onDecline: () => void }) {
  const { wanted, onDecline } = props;
  const session = useSession();
  const { authedRequest, getDelegation } = useOraclesContext();
  const { consent, declined } = useConsent(session);
  const [isReconsidered, setReconsidered] = useState(false);
  useEffect(() => {
    if (wanted) reconsider(); // what is attached is a question anew
  }, [wanted]);
  const [grant, setGrant] = useState<Grant>("read");
  const [hours, setHours] = useState(24);
  const [error, setError] = useState("");
  if (consent) {
    return (
      <p className="permission-given soft small">
        <Icon name="lock" />
        <span>
          {say("conversation.mayUseFiles", { grant: consent.grant, when: ago(consent.until) })}
        </span>
      </p>
    );
  }
  if (declined) {
    return (
      <p className="permission-given soft small">
        <Icon name="lock" />
        <span>
          <Say
            id="conversation.mayNotUseFiles"
            tags={{
              change: (inside) => (
                <button
                  type="button"
                  className="inline"
                  onClick={() => {
                    setReconsidered(true);
                    reconsider();
                  }}
                >
                  {inside}
                </button>
              ),
            }}
          />
        </span>
      </p>
    );
  }

  if (!wanted && !isReconsidered) return null;

  async function yes() {
    allow(session, grant, hours);
    try {
      const raw = await getDelegation(session.serviceDid);
      await authedRequest(`${here.baseUrl}/delegation`, "POST", {
        oracleDid: session.serviceDid,
        body: { raw },
      });
      setError("");
    } catch (cause) {
      setError(messageOf(cause));
    }
  }
  function no() {
    decline();
    onDecline(); // a turn that waits goes on without
  }
  return (
    <div className="permission" role="region" aria-label={say("conversation.permission")}>
      <p>
        <Icon name="lock" />
        <span>
          <Say
            id="conversation.permissionAsk"
            tags={{
              b: (inside) => <strong>{inside}</strong>,
              wide: (inside) => <span className="wide-only">{inside}</span>,
            }}
          />
        </span>
      </p>
      <div className="row answers">
        <label>
          <span className="visually-hidden">{say("conversation.whatItMayDo")}</span>
          <select value={grant} onChange={(event) => setGrant(event.target.value as Grant)}>
            <option value="read">{say("conversation.readThem")}</option>
            <option value="write">{say("conversation.changeThem")}</option>
          </select>
        </label>
        <label>
          <span className="visually-hidden">{say("conversation.howLong")}</span>
          <select value={hours} onChange={(event) => setHours(Number(event.target.value))}>
            <option value={1}>{say("conversation.forHour")}</option>
            <option value={24}>{say("conversation.forDay")}</option>
            <option value={168}>{say("conversation.forWeek")}</option>
          </select>
        </label>
        <button type="button" className="primary" onClick={() => void yes()}>
          {labelsNow().allow}
        </button>
        <button
          type="button"
          className="quiet not-now"
          aria-label={say("conversation.notNow")}
          onClick={no}
        >
          <span className="wide-only">{say("conversation.notNow")}</span>
          <span className="narrow-only">
            <Icon name="close" />
          </span>
        </button>
      </div>
      {error && (
        <p role="alert" className="bad small" dir="auto">
          {error}
        </p>
      )}
    </div>
  );
}
