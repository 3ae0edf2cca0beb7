import { utf8, type Bytes } from "./bytes";
import { CallError, CallIdentityError } from "./errors";
import type { FrameLayer } from "./frames";
import { checkAnswer, fingerprints, verifyIdentity, type CallIdentity } from "./identity";
import type { CallType } from "./media";
import type { CallRecord, CallSignal, Signals } from "./signals";

/** What a connection tells whoever made it. */
export interface PeerHost {
  /** Media flows, for the first time or again. */
  up(): void;
  /** Media does not flow any more; it is being mended. */
  down(): void;
  track(track: MediaStreamTrack): void;
  /** A message of the data channel. */
  said(message: Record<string, unknown>): void;
  /** When the call ends unless it is renewed. */
  lasts(expiresAt: string | number | undefined): void;
  over(reason: string, error?: Error): void;
}

export interface PeerOptions {
  record: CallRecord;
  keys: Bytes[];
  callType: CallType;
  stream: MediaStream;
  frames?: FrameLayer | undefined;
  iceTransportPolicy?: RTCIceTransportPolicy | undefined;
}

/** How long a call may be without media before it is given up. */
export const grace = 30_000;
/** How long a hiccup may heal by itself before another way is looked for. */
const hiccup = 1500;
/** How long a new way may take before it is looked for again. */
const retryAfter = 6000;
/** Refusals that may not be repeated a moment later. */
const passing = /^(unavailable|rate_limited|internal|conflict)$/;
/** Largest message of the data channel, in bytes. */
const largest = 16 * 1024;

/**
 * One call's connection: offers, checks who answers before any media flows,
 * trickles candidates both ways, and mends itself when the network changes.
 */
export class Peer {
  readonly #pc: RTCPeerConnection;
  readonly #channel: RTCDataChannel;
  readonly #undo: (() => void)[] = [];
  /** What carries sound and pictures from here, by kind. */
  readonly #senders = new Map<string, RTCRtpSender>();
  /** Candidates that came before there was anybody to tell. */
  #early: (RTCIceCandidateInit | null)[] = [];
  #mine: (RTCIceCandidate | null)[] = [];
  /** What the oracle knows this page of the call by, once it offered. */
  fingerprint: string | undefined;
  #offered = false;
  #negotiating = false;
  #again = false;
  #closed = false;
  #identity: CallIdentity | undefined;
  #deadline: ReturnType<typeof setTimeout> | undefined;
  #mending: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly signals: Signals,
    private readonly options: PeerOptions,
    private readonly host: PeerHost,
  ) {
    const { record, stream, frames, iceTransportPolicy = "all" } = options;
    const pc = new RTCPeerConnection({
      iceServers: record.iceServers ?? [],
      iceTransportPolicy,
      bundlePolicy: "max-bundle",
    });
    this.#pc = pc;
    this.#channel = pc.createDataChannel("castalia");
    this.#channel.onmessage = ({ data }) => this.#read(data);
    pc.onicecandidate = ({ candidate }) => this.#tell(candidate);
    pc.onconnectionstatechange = () => this.#changed();
    pc.ontrack = ({ track }) => host.track(track);
    const kinds = options.callType === "video" ? ["audio", "video"] : ["audio"];
    for (const kind of kinds) {
      const track = stream.getTracks().find((one) => one.kind === kind);
      const way = pc.addTransceiver(track ?? kind, {
        direction: track ? "sendrecv" : "recvonly",
        streams: [stream],
      });
      if (track) this.#senders.set(kind, way.sender);
      // Before there is anything to receive: a browser may not look again later.
      frames?.attach(way.sender, kind, true);
      frames?.attach(way.receiver, kind, false);
      if (frames && kind === "video") onlyVP8(way);
    }
    const mend = () => this.#mend(0);
    const online = signals.online;
    this.#undo.push(
      signals.hear(record.callId, (name, signal) => this.#hear(name, signal)),
      online.subscribe(() => online.get() && this.#offered && mend()),
      listen(globalThis, "online", mend),
      listen((navigator as { connection?: EventTarget }).connection, "change", mend),
    );
    this.#startClock();
  }

  /** Offers, and connects to whoever proves to be the oracle. */
  async connect(): Promise<void> {
    await verifyIdentity(
      this.options.keys,
      this.options.record.callId,
      this.options.record.identity,
    );
    await this.#negotiate(false);
  }

  send(message: Record<string, unknown>): boolean {
    const text = JSON.stringify(message);
    if (this.#channel.readyState !== "open" || utf8(text).length > largest) return false;
    this.#channel.send(text);
    return true;
  }

  /** Sends another track in the place of the one of its kind; false when none is sent. */
  async replace(track: MediaStreamTrack): Promise<boolean> {
    const sender = this.#senders.get(track.kind);
    await sender?.replaceTrack(track);
    return sender !== undefined;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#deadline);
    clearTimeout(this.#mending);
    for (const undo of this.#undo) undo();
    this.#channel.close();
    this.#pc.close();
    this.options.frames?.close();
  }

  async #negotiate(restart: boolean): Promise<void> {
    const { record, keys, frames } = this.options;
    const { callId } = record;
    this.#negotiating = true;
    try {
      const offer = await this.#pc.createOffer({ iceRestart: restart });
      this.#mine = [];
      this.#offered = false;
      await this.#pc.setLocalDescription(offer);
      const sdp = this.#pc.localDescription?.sdp ?? offer.sdp ?? "";
      this.fingerprint = fingerprints(sdp)[0];
      const answer = await this.signals.ask("call_offer", {
        callId,
        sdp,
        fingerprint: this.fingerprint,
        ...(restart ? { restart } : {}),
        ...(frames ? { frameKey: frames.publicKey } : {}),
      });
      if (this.#closed) return;
      this.#offered = true;
      for (const candidate of this.#mine.splice(0)) this.#tell(candidate);
      // A node that took the call over has a certificate of its own, signed too.
      const identity = answer.identity ?? this.#identity ?? record.identity;
      await verifyIdentity(keys, callId, identity);
      if (frames && identity?.agreement !== record.identity?.agreement) {
        throw new CallIdentityError("the key of the frames has changed");
      }
      checkAnswer(answer.sdp ?? "", identity as CallIdentity);
      this.#identity = identity;
      await this.#pc.setRemoteDescription({ type: "answer", sdp: answer.sdp ?? "" });
      for (const candidate of this.#early.splice(0)) this.#add(candidate);
    } finally {
      this.#negotiating = false;
      if (this.#again) this.#mend(0);
      this.#again = false;
    }
  }

  /** Looks for another way after a while, unless the old one works again by then. */
  #mend(after: number): void {
    clearTimeout(this.#mending);
    if (this.#closed) return;
    this.#mending = setTimeout(() => {
      this.#mending = undefined;
      void this.#restart();
    }, after);
  }

  async #restart(): Promise<void> {
    if (this.#negotiating) {
      this.#again = true;
      return;
    }
    try {
      await this.#negotiate(true);
    } catch (cause) {
      if (this.#closed) return;
      if (cause instanceof CallError && !passing.test(cause.code)) {
        return this.host.over(cause.code, cause);
      }
      // The socket is away, or nobody answered: there is time until the deadline.
    }
    if (!this.#mending && this.#pc.connectionState !== "connected") this.#mend(retryAfter);
  }

  #changed(): void {
    switch (this.#pc.connectionState) {
      case "connected":
        clearTimeout(this.#deadline);
        clearTimeout(this.#mending);
        this.#deadline = this.#mending = undefined;
        this.host.up();
        break;
      case "disconnected":
        this.#lost(hiccup);
        break;
      case "failed":
        this.#lost(0);
        break;
    }
  }

  #lost(after: number): void {
    this.#startClock();
    this.host.down();
    this.#mend(after);
  }

  #startClock(): void {
    this.#deadline ??= setTimeout(() => {
      const why = "No media could be exchanged with the oracle for 30 seconds.";
      this.host.over("timeout", new CallError("timeout", why));
    }, grace);
  }

  #tell(candidate: RTCIceCandidate | null): void {
    if (this.#closed) return;
    if (!this.#offered) {
      this.#mine.push(candidate);
      return;
    }
    const { callId } = this.options.record;
    this.signals.ask("call_ice", { callId, candidate }).catch(() => undefined);
  }

  #add(candidate: RTCIceCandidateInit | null): void {
    // One of a former generation may come late; it is of no use any more.
    this.#pc.addIceCandidate(candidate ?? undefined).catch(() => undefined);
  }

  #hear(name: string, signal: CallSignal): void {
    if (name === "call_ice") {
      const candidate = signal.candidate ?? null;
      if (this.#pc.remoteDescription && !this.#negotiating) this.#add(candidate);
      else if (this.#early.length < 256) this.#early.push(candidate);
    } else if (name === "call_moved") this.host.over("drain");
    else if (name === "call_end" || signal.callStatus === "ended") {
      this.host.over(signal.reason ?? "ended");
    } else if (name === "call_state") this.host.lasts(signal.expiresAt);
  }

  #read(data: unknown): void {
    if (this.#closed || typeof data !== "string" || data.length > largest) return;
    let message: unknown;
    try {
      message = JSON.parse(data);
    } catch {
      return;
    }
    if (message !== null && typeof message === "object") {
      this.host.said(message as Record<string, unknown>);
    }
  }
}

function listen(target: EventTarget | undefined, name: string, listener: () => void): () => void {
  target?.addEventListener?.(name, listener);
  return () => target?.removeEventListener?.(name, listener);
}

/** Frames are sealed behind the clear bytes of VP8, so no other codec will do. */
function onlyVP8(way: RTCRtpTransceiver): void {
  const all = RTCRtpReceiver.getCapabilities("video")?.codecs ?? [];
  way.setCodecPreferences(all.filter((codec) => /VP8|rtx/i.test(codec.mimeType)));
}
