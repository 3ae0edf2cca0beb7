import { vi } from "vitest";

/** A microphone or camera that can be seen to be let go. */
export class FakeTrack {
  enabled = true;
  stopped = false;
  constructor(readonly kind: "audio" | "video") {}
  stop(): void {
    this.stopped = true;
  }
}

export class FakeStream {
  constructor(readonly tracks: FakeTrack[] = []) {}
  getTracks(): FakeTrack[] {
    return this.tracks;
  }
  addTrack(track: FakeTrack): void {
    this.tracks.push(track);
  }
}

export class FakeChannel {
  readyState = "open";
  readonly sent: Record<string, unknown>[] = [];
  onmessage: ((event: { data: unknown }) => void) | null = null;
  send(text: string): void {
    this.sent.push(JSON.parse(text) as Record<string, unknown>);
  }
  close(): void {
    this.readyState = "closed";
  }
  say(message: unknown): void {
    this.onmessage?.({ data: typeof message === "string" ? message : JSON.stringify(message) });
  }
}

/** Stands in for the browser's connection: a test decides what becomes of it. */
export class FakePeer {
  static all: FakePeer[] = [];
  connectionState = "new";
  localDescription: { sdp: string } | null = null;
  remoteDescription: unknown = null;
  readonly channel = new FakeChannel();
  readonly candidates: unknown[] = [];
  readonly offers: { iceRestart?: boolean }[] = [];
  /** Tracks that took the place of others. */
  readonly replaced: FakeTrack[] = [];
  readonly transceivers: { kind: string; direction: string }[] = [];
  onicecandidate: ((event: { candidate: unknown }) => void) | null = null;
  onconnectionstatechange: (() => void) | null = null;
  ontrack: ((event: { track: FakeTrack; receiver: object }) => void) | null = null;

  constructor(readonly config: RTCConfiguration) {
    FakePeer.all.push(this);
  }
  createDataChannel(): FakeChannel {
    return this.channel;
  }
  addTransceiver(what: FakeTrack | string, init: { direction: string }) {
    const kind = typeof what === "string" ? what : what.kind;
    this.transceivers.push({ kind, direction: init.direction });
    const sender = {
      replaceTrack: async (track: FakeTrack) => void this.replaced.push(track),
    };
    return { sender, receiver: {}, setCodecPreferences: () => undefined };
  }
  async createOffer(options: { iceRestart?: boolean }) {
    this.offers.push(options);
    return { type: "offer", sdp: `v=0\r\na=fingerprint:sha-256 aa:bb\r\n` };
  }
  async setLocalDescription(offer: { sdp: string }): Promise<void> {
    this.localDescription = offer;
  }
  async setRemoteDescription(answer: unknown): Promise<void> {
    this.remoteDescription = answer;
  }
  async addIceCandidate(candidate: unknown): Promise<void> {
    this.candidates.push(candidate);
  }
  close(): void {
    this.connectionState = "closed";
  }
  /** The network says how it is. */
  becomes(state: string): void {
    this.connectionState = state;
    this.onconnectionstatechange?.();
  }
}

/** Puts a browser's media and connections into the test. */
export function stubMedia() {
  FakePeer.all = [];
  const streams: FakeStream[] = [];
  const getUserMedia = vi.fn(async (wanted: MediaStreamConstraints) => {
    const stream = new FakeStream([
      ...(wanted.audio ? [new FakeTrack("audio")] : []),
      ...(wanted.video ? [new FakeTrack("video")] : []),
    ]);
    streams.push(stream);
    return stream;
  });
  vi.stubGlobal("RTCPeerConnection", FakePeer);
  vi.stubGlobal("MediaStream", FakeStream);
  vi.stubGlobal("navigator", { mediaDevices: { getUserMedia } });
  return { getUserMedia, streams };
}
