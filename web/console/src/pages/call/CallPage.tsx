import { useOracleSessions } from "@castalia/oracles-client";
import type { CallType } from "@castalia/oracles-client/live-agent";
import { useState } from "react";
import { useSession } from "../../identity/session";
import { Icon } from "../../shell/icons";
import { Link } from "../../shell/Link";
import { useCall } from "./CallProvider";
import { Choice } from "./Choice";
import { Device } from "./Device";
import { Elsewhere } from "./Elsewhere";
import { OnCall } from "./OnCall";
import { RecordChoice } from "./RecordChoice";
import { SpeechNews } from "./SpeechNews";
import { useDevices } from "./useDevices";
import { folderOf, languagesOf, whyOver } from "./words";

/** Speak with the oracle, and let it see. */
export default function CallPage({ sessionId }: { sessionId: string }) {
  const call = useCall();
  return call.isCalling ? <OnCall /> : <Dial sessionId={sessionId} />;
}

function Dial(props: { sessionId: string }) {
  const { serviceDid } = useSession();
  const call = useCall();
  const list = useOracleSessions(serviceDid, { baseUrl: location.origin });
  const [chosen, setChosen] = useState(props.sessionId || call.sessionId);
  const { choices, choose } = call;
  const { microphones, cameras } = useDevices();
  const [failed, setFailed] = useState("");
  const known = list.sessions.some((s) => s.sessionId === chosen);

  async function dial(callType: CallType) {
    setFailed("");
    try {
      const sessionId = chosen || (await list.createSession()).sessionId;
      setChosen(sessionId);
      call.setSessionId(sessionId);
      const { language, ...others } = choices;
      const spoken = language ? { language } : {};
      await call.callAgent({ callType, sessionId, ...others, ...spoken });
    } catch (cause) {
      setFailed(cause instanceof Error ? cause.message : String(cause));
    }
  }
  const over = call.phase === "ended";
  const error = failed || call.error?.message;
  return (
    <div className="page dial">
      <div className="orb idle" aria-hidden="true">
        <Icon name="call" />
      </div>
      <h1>{over ? "Call again?" : "Call your oracle"}</h1>
      <p className="soft">
        Speak instead of typing. What is said is kept in the conversation as text; sound is recorded
        only if you ask for it.
      </p>
      {error ? (
        <p role="alert" className="notice bad">
          {error}
        </p>
      ) : (
        over && (
          <p role="status" className="notice">
            {whyOver(call.endReason)}
          </p>
        )
      )}
      {!call.canCall && (
        <p role="status" className="notice">
          This browser cannot make calls: it has no WebRTC, or the page is not secure (https or
          localhost). Use a current Firefox, Chrome, Edge or Safari, or type in the{" "}
          <Link to={chosen ? `chat/${encodeURIComponent(chosen)}` : "chat"}>conversation</Link>.
        </p>
      )}
      <SpeechNews />
      <Elsewhere />
      <div className="row dial-buttons">
        <button
          className="primary"
          type="button"
          disabled={!call.isReady || !call.canCall}
          onClick={() => void dial("audio")}
        >
          <Icon name="call" /> Voice call
        </button>
        <button
          type="button"
          disabled={!call.isReady || !call.canCall}
          onClick={() => void dial("video")}
        >
          <Icon name="camera" /> Video call
        </button>
        {over && call.sessionId && (
          <Link to={`chat/${encodeURIComponent(call.sessionId)}`} className="button">
            <Icon name="chat" /> Read the conversation
          </Link>
        )}
        {over && call.recording && (
          <Link to={`files${folderOf(call.recording.path)}`} className="button">
            <Icon name="files" /> Find the recording
          </Link>
        )}
      </div>
      <section className="card dial-options">
        <label>
          Conversation
          <select value={chosen} onChange={(event) => setChosen(event.target.value)}>
            <option value="">A new one</option>
            {chosen && !known && <option value={chosen}>This conversation</option>}
            {list.sessions.map((s) => (
              <option key={s.sessionId} value={s.sessionId}>
                {s.title || "Untitled"}
              </option>
            ))}
          </select>
        </label>
        <Device
          title="Microphone"
          devices={microphones}
          value={choices.microphoneId}
          onChange={(microphoneId) => choose({ microphoneId })}
        />
        <Device
          title="Camera"
          devices={cameras}
          value={choices.cameraId}
          onChange={(cameraId) => choose({ cameraId })}
        />
        <label>
          Language
          <select
            value={choices.language}
            onChange={(event) => choose({ language: event.target.value })}
          >
            <option value="">Whatever I speak</option>
            {languagesOf(navigator.languages).map(({ tag, name }) => (
              <option key={tag} value={tag}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <RecordChoice checked={choices.record} onChange={(record) => choose({ record })} />
        <details>
          <summary>Privacy</summary>
          <Choice
            checked={call.relayOnly}
            onChange={call.setRelayOnly}
            title="Hide my address"
            text="Media goes through a relay only. It sees that there is a call, not what is said."
          />
          <Choice
            checked={choices.e2ee}
            onChange={(e2ee) => choose({ e2ee })}
            title="Encrypt every frame once more"
            text="For when media passes a server of others. The oracle itself always hears the call."
          />
        </details>
      </section>
      <p className="soft small secure">
        <Icon name="shield" />
        <span>
          Encrypted between this tab and <span className="mono">{shortened(serviceDid)}</span>,
          whose signature is checked before anything is sent.
        </span>
      </p>
    </div>
  );
}

function shortened(did: string): string {
  return did.length > 28 ? `${did.slice(0, 18)}…${did.slice(-6)}` : did;
}
