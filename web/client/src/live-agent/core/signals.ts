import type { OracleApi } from "../../core/api";
import type { Cell } from "../../core/observable";
import type { OracleSocket } from "../../core/socket";
import { CallError } from "./errors";
import type { CallIdentity } from "./identity";
import type { CallType } from "./media";

/** What is asked for when a call begins. */
export interface NewCall {
  sessionId: string;
  callType: CallType;
  agentVoice?: string;
  language?: string;
  /** Encrypt each frame once more, for when media passes a server of others. */
  e2ee?: boolean;
  /** Keep the sound in the user's files; the oracle must be allowed to write there. */
  record?: boolean;
}

/** Where the sound of a call is kept: `failed` says that it is so no longer. */
export interface CallRecording {
  state: "on" | "failed";
  path: string;
}

/** A call that is on, in this tab or elsewhere. */
export interface OpenCall {
  callId: string;
  sessionId: string;
  callType: CallType;
  /** When it began, as a date. */
  createdAt: string;
}

/** A call as the oracle keeps it. */
export interface CallRecord extends Partial<OpenCall> {
  callId: string;
  callStatus?: string;
  e2ee?: boolean;
  /** When it ends unless its credential is renewed. */
  expiresAt?: string | number;
  iceServers?: RTCIceServer[];
  identity?: CallIdentity;
  limits?: { maxSeconds?: number };
  speech?: { stt?: boolean; tts?: boolean };
  recording?: CallRecording;
}

/** An answer on the socket; ok false says why. */
interface Ack {
  ok?: boolean;
  error?: { code?: string; message?: string };
  sdp?: string;
  identity?: CallIdentity;
  expiresAt?: string | number;
}

/** Something that the oracle says about a call without being asked. */
export interface CallSignal {
  callId: string;
  candidate?: RTCIceCandidateInit | null;
  reason?: string;
  callStatus?: string;
  expiresAt?: string | number;
}

/** How long the oracle may take to answer on the socket. */
const patience = 10_000;

/** The user's calls that have not ended, wherever they are. */
export async function openCalls(api: Pick<OracleApi, "json">): Promise<OpenCall[]> {
  return (await api.json<{ calls?: OpenCall[] }>("/calls")).calls ?? [];
}

/** Speaks about calls: requests to begin and end, the session's socket in between. */
export class Signals {
  constructor(
    private readonly api: Pick<OracleApi, "json">,
    private readonly socket: Pick<OracleSocket, "connected" | "line">,
  ) {}

  get online(): Cell<boolean> {
    return this.socket.connected;
  }

  create(call: NewCall): Promise<CallRecord> {
    return this.api.json("/calls", { method: "POST", body: call });
  }

  /** A call that was made already. */
  async find(callId: string): Promise<CallRecord> {
    const record = await this.api.json<CallRecord>(`/calls/${encodeURIComponent(callId)}`);
    if (record.callStatus !== "ended") return record;
    throw new CallError("call_ended", "The call has ended.");
  }

  /** Says something and waits for the answer. A refusal is a CallError, silence another error. */
  async ask(name: string, payload: { callId: string; [key: string]: unknown }): Promise<Ack> {
    const ack = (await this.socket.line.ask(name, payload, patience)) as Ack | undefined;
    if (ack?.ok) return ack;
    const { code = "refused", message = "The oracle refused the call." } = ack?.error ?? {};
    throw new CallError(code, message);
  }

  /**
   * Says that the call is over, by the way that is open. The fingerprint says which page it is: a
   * call that was taken over goes on.
   */
  end(callId: string, reason: string, fingerprint?: string): void {
    const from = fingerprint ? { fingerprint } : {};
    if (this.online.get()) this.socket.line.emit("call_end", { callId, reason, ...from });
    else {
      const path = `/calls/${encodeURIComponent(callId)}`;
      const body = { callStatus: "ended", reason, ...from };
      // What fails here is found out by time: no media for half a minute.
      this.api.json(path, { method: "PATCH", body }).catch(() => undefined);
    }
  }

  /** Hears what is said about one call, until the returned function is called. */
  hear(callId: string, listener: (name: string, signal: CallSignal) => void): () => void {
    const { line } = this.socket;
    const take = (name: string, signal: CallSignal | undefined) => {
      if (signal?.callId === callId) listener(name, signal);
    };
    line.onAny(take);
    return () => line.offAny(take);
  }
}
