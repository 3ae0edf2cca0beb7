import { useEffect, useRef, useState, type FormEvent } from "react";
import { messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { labelsNow, say } from "../../words";
import { Markdown } from "@castalia/oracles-ui/parts";
import { useCall } from "./CallProvider";
import { Device } from "./Device";
import { Picture, useLevel } from "./media";
import { useDevices } from "./useDevices";
import { clock, goingOn } from "./words";

/** A call that is on: who is there, what was said, and what can be done. */
export function OnCall() {
  const call = useCall();
  const video = call.callType === "video";
  return (
    <div className="on-call">
      <section className="stage" aria-label={say("call.call")}>
        {video ? (
          <Picture stream={call.remoteStream} label={say("call.oracleShows")} className="theirs" />
        ) : (
          <Orb />
        )}
        {video && (
          <Picture
            stream={call.isCameraOff ? undefined : call.localStream}
            label={say("call.yourCamera")}
            className="mine"
          />
        )}
        <p className={`going-on ${call.phase}`}>
          <span role="status">{goingOn(call.phase, call.state)}</span>
          {call.startedAt !== undefined && <Duration since={call.startedAt} />}
          <Recorded />
        </p>
        <Controls />
        <Devices />
      </section>
      <Captions />
    </div>
  );
}

/** Shown for as long as sound is kept. */
function Recorded() {
  const { recording } = useCall();
  if (!recording) return null;
  const on = recording.state === "on";
  return (
    <span role="status" className={`recorded ${recording.state}`} title={recording.path}>
      {on ? say("call.recording") : say("call.notRecorded")}
    </span>
  );
}

function Orb() {
  const call = useCall();
  const speaking = call.state === "speaking";
  const level = useLevel(speaking ? call.remoteStream : call.localStream);
  return (
    <div ref={level} className={`orb ${call.phase} ${call.state ?? ""}`} aria-hidden="true">
      <Icon name={call.isMuted && !speaking ? "muted" : speaking ? "call" : "microphone"} />
    </div>
  );
}

function Duration({ since }: { since: number }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return <span className="mono">{clock(now - since)}</span>;
}

function Controls() {
  const call = useCall();
  return (
    <div className="controls">
      <button
        type="button"
        className="round"
        aria-pressed={call.isMuted}
        aria-label={say("call.muteMicrophone")}
        title={call.isMuted ? say("call.unmute") : say("call.mute")}
        onClick={() => call.mute()}
      >
        <Icon name={call.isMuted ? "muted" : "microphone"} />
      </button>
      {call.callType === "video" && (
        <button
          type="button"
          className="round"
          aria-pressed={call.isCameraOff}
          aria-label={say("call.cameraOff")}
          title={call.isCameraOff ? say("call.cameraOn") : say("call.cameraOff")}
          onClick={() => call.hideCamera()}
        >
          <Icon name={call.isCameraOff ? "uncamera" : "camera"} />
        </button>
      )}
      {call.state === "speaking" && (
        <button
          type="button"
          className="round"
          aria-label={say("call.stopAnswer")}
          title={labelsNow().stop}
          onClick={call.interrupt}
        >
          <Icon name="stop" />
        </button>
      )}
      <button
        type="button"
        className="round hangup"
        aria-label={say("call.hangUp")}
        title={say("call.hangUp")}
        onClick={() => void call.endCall()}
      >
        <Icon name="hangup" />
      </button>
    </div>
  );
}

/** Another microphone or camera, while the call goes on. */
function Devices() {
  const { callType, choices, choose, changeDevices, localStream } = useCall();
  const { microphones, cameras } = useDevices(localStream);
  const change = (choice: { microphoneId: string } | { cameraId: string }) => {
    choose(choice);
    void changeDevices(choice);
  };
  const others = [microphones, callType === "video" ? cameras : []];
  if (!others.some((devices) => devices.length > 1)) return null;
  return (
    <details className="other-devices">
      <summary>{say("call.microphoneAndCamera")}</summary>
      <Device
        title={say("call.microphone")}
        devices={microphones}
        value={choices.microphoneId}
        onChange={(microphoneId) => change({ microphoneId })}
      />
      {callType === "video" && (
        <Device
          title={say("call.camera")}
          devices={cameras}
          value={choices.cameraId}
          onChange={(cameraId) => change({ cameraId })}
        />
      )}
    </details>
  );
}

function Captions() {
  const call = useCall();
  const [text, setText] = useState("");
  const [unsent, setUnsent] = useState(false);
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    end.current?.scrollIntoView({ block: "nearest" });
  }, [call.captions, call.error]);
  function send(event: FormEvent) {
    event.preventDefault();
    const message = text.trim();
    if (!message) return;
    const sent = call.sendText(message);
    setUnsent(!sent);
    if (sent) setText("");
  }
  return (
    <section className="captions" aria-label={say("call.said")}>
      <div className="said" role="log" aria-live="polite" tabIndex={0}>
        {call.captions.length === 0 && (
          <p className="soft centre">
            {call.phase !== "connected"
              ? say("call.saidAppears")
              : call.speech?.stt === false
                ? say("call.typeBelow")
                : say("call.sayOrType")}
          </p>
        )}
        {call.captions.map((caption) => (
          <div
            key={caption.id}
            className={`caption ${caption.role}${caption.final ? "" : " partial"}`}
          >
            <span className="visually-hidden">
              {caption.role === "user" ? say("call.you") : say("call.oracle")}{" "}
            </span>
            {caption.role === "user" ? (
              <span dir="auto">{caption.text}</span>
            ) : (
              <Markdown text={caption.text} />
            )}
            {caption.seen && (
              <span className="seen small">
                <Icon name="camera" /> {say("call.looked")}
              </span>
            )}
          </div>
        ))}
        {(call.error || unsent) && (
          <p role="alert" className="notice bad small" dir="auto">
            {unsent ? say("call.notSent") : call.error && messageOf(call.error)}
          </p>
        )}
        <div ref={end} />
      </div>
      <form className="type-instead" onSubmit={send}>
        <label className="visually-hidden" htmlFor="say">
          {say("call.typeInstead")}
        </label>
        <input
          id="say"
          value={text}
          autoComplete="off"
          placeholder={say("call.typeInstead")}
          onChange={(event) => setText(event.target.value)}
        />
        <button
          className="primary"
          type="submit"
          aria-label={labelsNow().send}
          disabled={!text.trim()}
        >
          <Icon name="send" />
        </button>
      </form>
    </section>
  );
}
