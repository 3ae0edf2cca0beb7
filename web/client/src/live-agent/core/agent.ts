import { asError } from "../../core/errors";
import { Cell } from "../../core/observable";
import type { Bytes } from "./bytes";
import { CallError } from "./errors";
import { FrameLayer } from "./frames";
import { openDevice, openMedia, stopMedia, type CallType, type DeviceChoice } from "./media";
import { grace, Peer } from "./peer";
import type { CallRecord, CallRecording, NewCall, Signals } from "./signals";

/** A line of what was said. */
export interface Caption {
  id: string;
  role: "user" | "assistant";
  text: string;
  /** Whether nothing will be added to it. */
  final: boolean;
  /** Whether the oracle looked at the camera's picture with it. */
  seen: boolean;
}

/** How far a call is. */
export type CallPhase = "idle" | "connecting" | "connected" | "reconnecting" | "ended";

/** What the oracle does at the moment. */
export type AgentState = "listening" | "thinking" | "speaking";

/** What a page sees of a call. A new object only when something changed. */
export interface LiveState {
  phase: CallPhase;
  callId: string | undefined;
  /** The session that the call is in. */
  sessionId: string | undefined;
  callType: CallType | undefined;
  /** What the oracle does; undefined while there is no call. */
  state: AgentState | undefined;
  localStream: MediaStream | undefined;
  remoteStream: MediaStream | undefined;
  captions: Caption[];
  isMuted: boolean;
  isCameraOff: boolean;
  /** Whether the oracle can hear and speak, or only read and write. */
  speech: { stt: boolean; tts: boolean } | undefined;
  /** Set while the call is recorded, and kept when it has ended. */
  recording: CallRecording | undefined;
  /** When the connection stood first, in milliseconds. */
  startedAt: number | undefined;
  /** Why the last call ended, such as hangup, timeout or token_revoked. */
  endReason: string | undefined;
  error: Error | undefined;
}

/** What is asked for in a call. */
export interface CallOptions extends NewCall, DeviceChoice {
  /** Goes on with this call, of this tab before or of another, instead of making one. */
  callId?: string;
  /** Of no effect: the oracle knows the caller by the credential. */
  userDid?: string;
}

/** What a call needs from the page around it. */
export interface AgentHost {
  /** Opens the line of a session. */
  line(sessionId: string): { signals: Signals; release: () => void };
  keys(): Promise<Bytes[]>;
  /** A fresh credential, as the handshake of the socket has it. */
  renew(): Promise<Record<string, string>>;
  frameWorkerUrl?: string | URL | undefined;
  iceTransportPolicy?: RTCIceTransportPolicy | undefined;
}

interface Run {
  host: AgentHost;
  options: CallOptions;
  signals: Signals;
  release: () => void;
  stream: MediaStream | undefined;
  peer: Peer | undefined;
  callId: string;
  /** The call to go on with; empty once that was tried. */
  joins: string;
  /** Whether the call is this page's to end: it made it, or has taken it over. */
  holds: boolean;
  renewing: ReturnType<typeof setTimeout> | undefined;
  /** Until when a call that lost its node may look for another. */
  until: number;
  over: boolean;
}

const idle: LiveState = {
  phase: "idle",
  callId: undefined,
  sessionId: undefined,
  callType: undefined,
  state: undefined,
  localStream: undefined,
  remoteStream: undefined,
  captions: [],
  isMuted: false,
  isCameraOff: false,
  speech: undefined,
  recording: undefined,
  startedAt: undefined,
  endReason: undefined,
  error: undefined,
};

/** Lines of a call that are kept for the page; all of them are in the session. */
const keptCaptions = 200;
/** How long before its end a call's credential is renewed. */
const renewBefore = 60_000;
/** How long to wait before another node is tried. */
const nextNode = 1000;
/** Ends after which the same call goes on at another node. */
const elsewhere = /^(drain|interrupted)$/;

/** A telephone: one call at a time, whatever becomes of the network in between. */
export class LiveAgent {
  readonly state = new Cell<LiveState>(idle);
  #run: Run | undefined;
  /** The call that waits for what it needs. */
  #waiting: object | undefined;

  /** Calls, as soon as it is ready to. Failures are in the state, not thrown. */
  async call(host: AgentHost, options: CallOptions, ready?: Promise<void>): Promise<void> {
    if (this.#run || this.#waiting) {
      return this.#set({ error: new CallError("busy", "There is a call already.") });
    }
    if (ready) {
      const waiting = (this.#waiting = {});
      this.state.set(beginning(options));
      const failed = await ready.then(() => undefined, asError);
      if (this.#waiting !== waiting) return;
      this.#waiting = undefined;
      if (failed) return this.#set({ phase: "ended", error: failed });
    }
    let line: ReturnType<AgentHost["line"]>;
    try {
      line = host.line(options.sessionId);
    } catch (cause) {
      return this.#set({ phase: "ended", error: asError(cause) });
    }
    const run: Run = {
      host,
      options,
      ...line,
      stream: undefined,
      peer: undefined,
      callId: "",
      joins: options.callId ?? "",
      holds: false,
      renewing: undefined,
      until: 0,
      over: false,
    };
    this.#run = run;
    this.state.set(beginning(options));
    try {
      const stream = await openMedia(options.callType, options);
      if (run.over) return stopMedia(stream);
      run.stream = stream;
      this.#set({ localStream: stream });
      await this.#connect(run);
    } catch (cause) {
      this.#end(run, cause instanceof CallError ? cause.code : "failed", asError(cause));
    }
  }

  /** Hangs up, and lets go of microphone and camera at once. */
  end(reason = "hangup"): void {
    if (this.#waiting) this.#set({ phase: "ended" });
    this.#waiting = undefined;
    if (this.#run) this.#end(this.#run, reason);
  }

  /**
   * Lets go of everything here and leaves the call itself as it is, for the next page
   * of the tab. Returns what is needed to go on with it.
   */
  leave(): CallOptions | undefined {
    const run = this.#run;
    if (!run?.callId) {
      this.end();
      return undefined;
    }
    const left = { ...run.options, callId: run.callId };
    run.callId = ""; // whoever ends it is not told
    this.#end(run, "left");
    return left;
  }

  /** Goes on with another microphone or camera. Failures are in the state, not thrown. */
  async change(choice: DeviceChoice): Promise<void> {
    const run = this.#run;
    if (!run?.stream) return;
    const wanted = [
      ["audio", choice.microphoneId],
      ["video", choice.cameraId],
    ] as const;
    for (const [kind, id] of wanted) {
      if (id === undefined) continue;
      try {
        await this.#replace(run, kind, id);
        run.options = {
          ...run.options,
          ...(kind === "audio" ? { microphoneId: id } : { cameraId: id }),
        };
      } catch (cause) {
        if (!run.over) this.#set({ error: asError(cause) });
      }
    }
  }

  async #replace(run: Run, kind: "audio" | "video", id: string): Promise<void> {
    const track = await openDevice(kind, id);
    const old = run.stream?.getTracks().filter((one) => one.kind === kind) ?? [];
    const { isMuted, isCameraOff } = this.state.get();
    track.enabled = !(kind === "audio" ? isMuted : isCameraOff);
    let taken = false;
    try {
      taken = !run.over && run.peer !== undefined && (await run.peer.replace(track));
    } finally {
      if (!taken || run.over) track.stop();
    }
    if (run.over) return;
    if (!taken) throw new CallError("not_sent", `There is no ${kind} in this call.`);
    const others = run.stream?.getTracks().filter((one) => one.kind !== kind) ?? [];
    for (const one of old) one.stop();
    run.stream = new MediaStream([...others, track]);
    this.#set({ localStream: run.stream, error: undefined });
  }

  mute(muted: boolean): void {
    this.#enable("audio", !muted);
    this.#run?.peer?.send({ type: "mute", muted });
    this.#set({ isMuted: muted });
  }

  hideCamera(off: boolean): void {
    this.#enable("video", !off);
    this.#set({ isCameraOff: off });
  }

  /** Types instead of speaking; false when there is nobody to read it, or it is too long. */
  sendText(text: string): boolean {
    return this.#run?.peer?.send({ type: "text", text }) ?? false;
  }

  /** Asks the oracle to stop speaking. */
  interrupt(): void {
    this.#run?.peer?.send({ type: "interrupt" });
  }

  async #connect(run: Run): Promise<void> {
    const { host, options, signals } = run;
    const keys = await host.keys();
    const { joins } = run;
    run.joins = "";
    const record = joins ? await signals.find(joins) : await signals.create(asked(options));
    const { callType = options.callType, e2ee = options.e2ee } = joins ? record : options;
    if (run.over && joins) return; // it goes on where it was
    run.callId = record.callId;
    run.holds = !joins;
    const agreement = record.identity?.agreement;
    const frames = e2ee
      ? await FrameLayer.agree(record.callId, agreement, host.frameWorkerUrl)
      : undefined;
    if (run.over || !run.stream) {
      frames?.close();
      return joins ? undefined : signals.end(record.callId, "hangup");
    }
    const remoteStream = new MediaStream();
    const mine = () => !run.over && run.callId === record.callId;
    run.peer = new Peer(
      signals,
      {
        record,
        keys,
        callType,
        stream: run.stream,
        frames,
        iceTransportPolicy: host.iceTransportPolicy,
      },
      {
        up: () => {
          run.until = 0;
          this.#set({ phase: "connected", startedAt: this.state.get().startedAt ?? Date.now() });
        },
        down: () => this.#set({ phase: "reconnecting" }),
        track: (track) => {
          remoteStream.addTrack(track);
          this.#set({ remoteStream });
        },
        said: (message) => this.#take(run, message),
        lasts: (expiresAt) => this.#lasts(run, expiresAt),
        over: (reason, error) => {
          if (mine()) this.#gone(run, reason, error);
        },
      },
    );
    this.#set({
      callId: record.callId,
      callType,
      recording: record.recording,
      ...speechOf(record),
    });
    this.#lasts(run, record.expiresAt);
    await run.peer.connect();
    run.holds = true;
  }

  /** The connection is over: for good, or only here. */
  #gone(run: Run, reason: string, error?: Error): void {
    if (!elsewhere.test(reason)) return this.#end(run, reason, error);
    // It is over there, and may be told so twice.
    run.peer?.close();
    run.peer = undefined;
    run.callId = "";
    run.until ||= Date.now() + grace;
    this.#set({ phase: "reconnecting", state: undefined });
    const again = async () => {
      if (run.over) return;
      try {
        await this.#connect(run);
      } catch (cause) {
        if (run.over) return;
        const refused = (cause as { status?: number }).status ?? 503;
        if (Date.now() > run.until || refused < 500) {
          return this.#end(run, reason, asError(cause));
        }
        run.peer?.close();
        run.renewing = setTimeout(again, nextNode);
      }
    };
    void again();
  }

  #end(run: Run, reason: string, error?: Error): void {
    if (run.over) return;
    run.over = true;
    this.#run = undefined;
    clearTimeout(run.renewing);
    stopMedia(run.stream);
    // A call that was taken over, or could not be, goes on elsewhere.
    if (run.callId && run.holds && reason !== "taken") {
      run.signals.end(run.callId, reason, run.peer?.fingerprint);
    }
    run.peer?.close();
    run.release();
    this.#set({
      phase: "ended",
      state: undefined,
      localStream: undefined,
      remoteStream: undefined,
      isMuted: false,
      isCameraOff: false,
      endReason: reason,
      ...(error ? { error } : {}),
    });
  }

  /** Renews the credential before the call ends with it. */
  #lasts(run: Run, expiresAt: string | number | undefined): void {
    clearTimeout(run.renewing);
    const end = expiresAt === undefined ? NaN : new Date(expiresAt).getTime();
    const wait = end - Date.now() - renewBefore;
    if (run.over || !(wait < 2 ** 31)) return;
    run.renewing = setTimeout(
      async () => {
        try {
          const tokens = await run.host.renew();
          const ack = await run.signals.ask("call_renew", { callId: run.callId, ...tokens });
          // A call that may not last longer is not asked about again.
          if (new Date(ack.expiresAt ?? 0).getTime() > end) this.#lasts(run, ack.expiresAt);
        } catch {
          // The oracle ends the call in a minute and says why.
        }
      },
      Math.max(wait, 0),
    );
  }

  #take(run: Run, message: Record<string, unknown>): void {
    const { type, id, role, text, state, reason } = message;
    switch (type) {
      case "hello":
        this.#set(speechOf(message as Pick<CallRecord, "speech">));
        break;
      case "state":
        if (state === "listening" || state === "thinking" || state === "speaking") {
          this.#set({ state });
        }
        break;
      case "caption":
        if (typeof id === "string" && typeof text === "string") {
          this.#caption({
            id,
            text,
            role: role === "user" ? role : "assistant",
            final: message["final"] === true,
            seen: message["seen"] === true,
          });
        }
        break;
      case "recording": {
        const { recording } = this.state.get();
        if (recording && state === "failed") this.#set({ recording: { ...recording, state } });
        break;
      }
      case "error":
        this.#set({ error: new CallError(String(message["code"]), String(message["message"])) });
        break;
      case "bye":
        this.#gone(run, String(reason ?? "ended"));
        break;
    }
  }

  #caption(caption: Caption): void {
    const { captions, error } = this.state.get();
    const at = captions.findIndex((one) => one.id === caption.id);
    const next = at < 0 ? [...captions, caption] : captions.with(at, caption);
    this.#set({
      captions: next.slice(-keptCaptions),
      // What went wrong before is of no interest once the talk goes on.
      error: caption.final ? undefined : error,
    });
  }

  #enable(kind: string, enabled: boolean): void {
    for (const track of this.#run?.stream?.getTracks() ?? []) {
      if (track.kind === kind) track.enabled = enabled;
    }
  }

  #set(change: Partial<LiveState>): void {
    this.state.set({ ...this.state.get(), ...change });
  }
}

function beginning({ callType, sessionId }: CallOptions): LiveState {
  return { ...idle, phase: "connecting", callType, sessionId };
}

/** What is asked for, and nothing else. */
function asked(options: CallOptions): NewCall {
  const { sessionId, callType, agentVoice, language, e2ee, record } = options;
  return {
    sessionId,
    callType,
    ...(agentVoice ? { agentVoice } : {}),
    ...(language ? { language } : {}),
    ...(e2ee ? { e2ee } : {}),
    ...(record ? { record: true } : {}),
  };
}

function speechOf({ speech }: Pick<CallRecord, "speech">): Partial<LiveState> {
  return speech ? { speech: { stt: speech.stt === true, tts: speech.tts === true } } : {};
}
