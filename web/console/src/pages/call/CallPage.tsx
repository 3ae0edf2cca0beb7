import { useOracleSessions } from "@castalia/oracles-client";
import type { CallType } from "@castalia/oracles-client/live-agent";
import { useState } from "react";
import { useSession } from "../../identity/session";
import { messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { Link } from "../../shell/Link";
import { Say, say } from "../../words";
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
      setFailed(messageOf(cause));
    }
  }
  const over = call.phase === "ended";
  const error = failed || (call.error && messageOf(call.error));
  return (
    <div className="page dial">
      <div className="orb idle" aria-hidden="true">
        <Icon name="call" />
      </div>
      <h1>{over ? say("call.again") : say("call.title")}</h1>
      <p className="soft">{say("call.what")}</p>
      {error ? (
        <p role="alert" className="notice bad" dir="auto">
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
          <Say
            id="call.cannotCall"
            tags={{
              link: (inside) => (
                <Link to={chosen ? `chat/${encodeURIComponent(chosen)}` : "chat"}>{inside}</Link>
              ),
            }}
          />
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
          <Icon name="call" /> {say("call.voiceCall")}
        </button>
        <button
          type="button"
          disabled={!call.isReady || !call.canCall}
          onClick={() => void dial("video")}
        >
          <Icon name="camera" /> {say("call.videoCall")}
        </button>
        {over && call.sessionId && (
          <Link to={`chat/${encodeURIComponent(call.sessionId)}`} className="button">
            <Icon name="chat" /> {say("call.readConversation")}
          </Link>
        )}
        {over && call.recording && (
          <Link to={`files${folderOf(call.recording.path)}`} className="button">
            <Icon name="files" /> {say("call.findRecording")}
          </Link>
        )}
      </div>
      <section className="card dial-options">
        <label>
          {say("chat.conversation")}
          <select value={chosen} onChange={(event) => setChosen(event.target.value)}>
            <option value="">{say("call.newConversation")}</option>
            {chosen && !known && <option value={chosen}>{say("call.thisConversation")}</option>}
            {list.sessions.map((s) => (
              <option key={s.sessionId} value={s.sessionId} dir="auto">
                {s.title || say("call.untitled")}
              </option>
            ))}
          </select>
        </label>
        <Device
          title={say("call.microphone")}
          devices={microphones}
          value={choices.microphoneId}
          onChange={(microphoneId) => choose({ microphoneId })}
        />
        <Device
          title={say("call.camera")}
          devices={cameras}
          value={choices.cameraId}
          onChange={(cameraId) => choose({ cameraId })}
        />
        <label>
          {say("call.language")}
          <select
            value={choices.language}
            onChange={(event) => choose({ language: event.target.value })}
          >
            <option value="">{say("call.anyLanguage")}</option>
            {languagesOf(navigator.languages).map(({ tag, name }) => (
              <option key={tag} value={tag} dir="auto">
                {name}
              </option>
            ))}
          </select>
        </label>
        <RecordChoice checked={choices.record} onChange={(record) => choose({ record })} />
        <details>
          <summary>{say("call.privacy")}</summary>
          <Choice
            checked={call.relayOnly}
            onChange={call.setRelayOnly}
            title={say("call.hideAddress")}
            text={say("call.hideAddressHint")}
          />
          <Choice
            checked={choices.e2ee}
            onChange={(e2ee) => choose({ e2ee })}
            title={say("call.encryptFrames")}
            text={say("call.encryptFramesHint")}
          />
        </details>
      </section>
      <p className="soft small secure">
        <Icon name="shield" />
        <span>
          <Say
            id="call.encrypted"
            values={{ did: shortened(serviceDid) }}
            tags={{
              did: (inside) => (
                <span className="mono" dir="auto">
                  {inside}
                </span>
              ),
            }}
          />
        </span>
      </p>
    </div>
  );
}

function shortened(did: string): string {
  return did.length > 28 ? `${did.slice(0, 18)}…${did.slice(-6)}` : did;
}
