import { useLiveAgent, type UseLiveAgentResult } from "@castalia/oracles-client/live-agent";
import frameWorkerUrl from "@castalia/oracles-client/frame-worker?worker&url";
import { createContext, useContext, useMemo, useState, type ReactNode } from "react";
import { useSession } from "../../identity/session";
import { Icon } from "../../shell/icons";
import { Link } from "../../shell/Link";
import { usePath } from "../../shell/router";
import { say } from "../../words";
import { Sound } from "./media";
import { goingOn } from "./words";
import "./call.css";

/** What was chosen for calls; it stays for the next one. */
interface Choices {
  e2ee: boolean;
  record: boolean;
  microphoneId: string;
  cameraId: string;
  /** The language that is spoken; empty: whatever is. */
  language: string;
}

interface Call extends Omit<UseLiveAgentResult, "sessionId"> {
  /** The conversation that the call belongs to. */
  sessionId: string;
  setSessionId: (sessionId: string) => void;
  relayOnly: boolean;
  setRelayOnly: (only: boolean) => void;
  choices: Choices;
  choose: (change: Partial<Choices>) => void;
}

const CallContext = createContext<Call | undefined>(undefined);

/** The call of this tab. */
export function useCall(): Call {
  const call = useContext(CallContext);
  if (!call) throw new Error("there is no telephone here");
  return call;
}

const unchosen: Choices = {
  e2ee: false,
  record: false,
  microphoneId: "",
  cameraId: "",
  language: "",
};

const here = { baseUrl: location.origin, wsUrl: location.origin };

/** Keeps the call while the user looks at other pages, and lets it be heard there. */
export default function CallProvider({ children }: { children: ReactNode }) {
  const { serviceDid } = useSession();
  const [chosen, setSessionId] = useState("");
  const [relayOnly, setRelayOnly] = useState(false);
  const [choices, setChoices] = useState(unchosen);
  const agent = useLiveAgent({
    oracleDid: serviceDid,
    overrides: here,
    frameWorkerUrl,
    iceTransportPolicy: relayOnly ? "relay" : "all",
  });
  // A page that was reloaded knows the conversation by its call.
  const sessionId = agent.sessionId ?? chosen;
  const call = useMemo(
    () => ({
      ...agent,
      sessionId,
      setSessionId,
      relayOnly,
      setRelayOnly,
      choices,
      choose: (change: Partial<Choices>) => setChoices((all) => ({ ...all, ...change })),
    }),
    [agent, sessionId, relayOnly, choices],
  );
  const elsewhere = !usePath().startsWith("call");
  return (
    <CallContext value={call}>
      {children}
      {call.isCalling && <Sound stream={call.remoteStream} />}
      {call.isCalling && elsewhere && (
        <aside className="call-bar" aria-label={say("call.call")}>
          <span className="dot live" />
          <span role="status">{goingOn(call.phase, call.state)}</span>
          {call.recording?.state === "on" && (
            <span className="recorded on">{say("call.recording")}</span>
          )}
          <Link to="call" className="button">
            {say("call.back")}
          </Link>
          <button type="button" className="hangup" onClick={() => void call.endCall()}>
            <Icon name="hangup" /> {say("call.hangUp")}
          </button>
        </aside>
      )}
    </CallContext>
  );
}
