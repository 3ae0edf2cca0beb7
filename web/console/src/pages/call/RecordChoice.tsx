import { useOraclesContext } from "@castalia/oracles-client";
import { useState } from "react";
import { allow, mintDelegation, useConsent } from "../../identity/consent";
import { useSession } from "../../identity/session";
import { messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { here } from "../chat/here";
import { say } from "../../words";
import { Choice } from "./Choice";

/** Whether the call is recorded, and the leave to write that this needs. */
export function RecordChoice(props: { checked: boolean; onChange: (checked: boolean) => void }) {
  const session = useSession();
  const { authedRequest } = useOraclesContext();
  const { consent } = useConsent(session);
  const [error, setError] = useState("");
  const [isGiving, setGiving] = useState(false);
  // Allowed is what the oracle has heard of: a call that is quicker would be refused.
  const may = consent?.grant === "write" && !isGiving;

  async function yes() {
    setGiving(true);
    allow(session, "write", 24);
    try {
      const raw = (await mintDelegation(session)).serialized;
      await authedRequest(`${here.baseUrl}/delegation`, "POST", {
        oracleDid: session.serviceDid,
        body: { raw },
      });
      setError("");
    } catch (cause) {
      setError(messageOf(cause));
    } finally {
      setGiving(false);
    }
  }
  return (
    <>
      <Choice
        checked={props.checked}
        onChange={props.onChange}
        title={say("call.record")}
        text={say("call.recordHint")}
      />
      {props.checked && !may && (
        <div className="leave" role="region" aria-label={say("call.recordPermission")}>
          <p>
            <Icon name="lock" />
            <span>{say("call.recordPermissionHint")}</span>
          </p>
          <button type="button" disabled={isGiving} onClick={() => void yes()}>
            {say("call.allowForDay")}
          </button>
        </div>
      )}
      {error && (
        <p role="alert" className="bad small" dir="auto">
          {error}
        </p>
      )}
    </>
  );
}
