import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { RequestError } from "../../core/errors";
import { FakeTrack, stubMedia } from "../../testkit/rtc";
import { LiveAgent, type CallOptions } from "./agent";
import { callee, signer } from "./kit";

const audio: CallOptions = { callType: "audio", sessionId: "$s" };
let media: ReturnType<typeof stubMedia>;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  media = stubMedia();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const realTimeout = setTimeout;
/** Waits in real time, while the call's own clock stands still. */
async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 5000 && !holds(); i++) await new Promise((done) => realTimeout(done, 1));
  expect(holds()).toBe(true);
}

async function called(options: Partial<CallOptions> = {}, host = {}) {
  const oracle = await callee();
  const agent = new LiveAgent();
  await agent.call({ ...oracle.host, ...host }, { ...audio, ...options });
  return { oracle, agent, state: agent.state.get };
}

async function talking(options: Partial<CallOptions> = {}) {
  const call = await called(options);
  call.oracle.peer().becomes("connected");
  expect(call.state().phase).toBe("connected");
  return call;
}

function expectAllOff(): void {
  for (const stream of media.streams) {
    for (const track of stream.getTracks()) expect(track.stopped).toBe(true);
  }
}

describe("a call", () => {
  test("goes from connecting to connected, and captions follow what is said", async () => {
    const { oracle, state } = await called({ agentVoice: "v", language: "en", userDid: "x" });
    expect(state()).toMatchObject({ phase: "connecting", callId: "c1", callType: "audio" });
    expect(oracle.requests).toEqual([
      {
        path: "/calls",
        method: "POST",
        body: { sessionId: "$s", callType: "audio", agentVoice: "v", language: "en" },
      },
    ]);
    expect(oracle.socket.replies("call_offer")).toMatchObject([
      { callId: "c1", fingerprint: "sha-256 AA:BB" },
    ]);
    const peer = oracle.peer();
    expect(peer.config).toMatchObject({
      iceServers: [{ urls: "turn:t" }],
      iceTransportPolicy: "all",
    });
    expect(peer.transceivers).toEqual([{ kind: "audio", direction: "sendrecv" }]);
    peer.ontrack?.({ track: new FakeTrack("audio"), receiver: {} });
    peer.becomes("connected");
    peer.channel.say({ type: "state", state: "listening" });
    peer.channel.say({ type: "caption", id: "1", role: "user", text: "what", final: false });
    peer.channel.say({ type: "caption", id: "2", role: "assistant", text: "It is", final: false });
    peer.channel.say({ type: "caption", id: "1", role: "user", text: "what is it", final: true });
    expect(state()).toMatchObject({
      phase: "connected",
      state: "listening",
      speech: { stt: true, tts: false },
      captions: [
        { id: "1", role: "user", text: "what is it", final: true },
        { id: "2", role: "assistant", text: "It is", final: false },
      ],
    });
    expect(state().remoteStream?.getTracks()).toHaveLength(1);
  });

  test("is recorded only when asked, and says so until it is not", async () => {
    const plain = await talking();
    expect(plain.state().recording).toBeUndefined();
    plain.oracle.peer().channel.say({ type: "recording", state: "failed" });
    expect(plain.state().recording).toBeUndefined();

    const { oracle, agent, state } = await talking({ record: true });
    expect(oracle.requests[0]?.body).toEqual({ sessionId: "$s", callType: "audio", record: true });
    const path = "/recordings/c1.wav";
    expect(state().recording).toEqual({ state: "on", path });
    const { channel } = oracle.peer();
    channel.say({ type: "recording", state: "on", path });
    channel.say({ type: "caption", id: "1", role: "user", text: "see?", final: true, seen: true });
    expect(state()).toMatchObject({ recording: { state: "on" }, captions: [{ seen: true }] });
    channel.say({ type: "recording", state: "failed", message: "No room." });
    expect(state().recording).toEqual({ state: "failed", path });
    agent.end();
    expect(state().recording).toEqual({ state: "failed", path });
  });

  test("of video sends a camera; who has none is seen by nobody and sees", async () => {
    const { oracle } = await called({ callType: "video" });
    expect(oracle.peer().transceivers).toEqual([
      { kind: "audio", direction: "sendrecv" },
      { kind: "video", direction: "sendrecv" },
    ]);
    media.getUserMedia.mockRejectedValueOnce(new DOMException("", "NotFoundError"));
    const other = await called({ callType: "video" });
    expect(other.oracle.peer().transceivers.at(-1)).toEqual({
      kind: "video",
      direction: "recvonly",
    });
  });

  test("is hung up: devices are let go, the oracle is told, the line is released", async () => {
    const { oracle, agent, state } = await talking({ callType: "video" });
    agent.end();
    agent.end();
    expectAllOff();
    expect(oracle.socket.replies("call_end")).toEqual([
      { callId: "c1", reason: "hangup", fingerprint: "sha-256 AA:BB" },
    ]);
    expect(oracle.peer().connectionState).toBe("closed");
    expect(oracle.released).toBe(1);
    expect(state()).toMatchObject({ phase: "ended", endReason: "hangup", error: undefined });
    await agent.call(oracle.host, audio);
    expect(state()).toMatchObject({ phase: "connecting", callId: "c2", endReason: undefined });
  });

  test("waits for what it needs, alone, and can be given up before that", async () => {
    const oracle = await callee();
    const agent = new LiveAgent();
    let loaded: () => void = () => undefined;
    const calling = agent.call(oracle.host, audio, new Promise((done) => (loaded = done)));
    expect(agent.state.get().phase).toBe("connecting");
    await agent.call(oracle.host, audio);
    expect(agent.state.get().error).toMatchObject({ code: "busy" });
    agent.end();
    expect(agent.state.get().phase).toBe("ended");
    loaded();
    await calling;
    expect(oracle.requests).toEqual([]);
    await agent.call(oracle.host, audio, Promise.reject(new Error("away")));
    expect(agent.state.get()).toMatchObject({ phase: "ended", error: { message: "away" } });
    await agent.call(oracle.host, audio, Promise.resolve());
    expect(agent.state.get()).toMatchObject({ phase: "connecting", callId: "c1" });
  });

  test("that is hung up without a socket is ended by a request", async () => {
    const { oracle, agent } = await talking();
    oracle.connected.set(false);
    agent.end();
    expect(oracle.requests.at(-1)).toMatchObject({
      path: "/calls/c1",
      method: "PATCH",
      body: { callStatus: "ended", reason: "hangup", fingerprint: "sha-256 AA:BB" },
    });
  });

  test("given up while the browser asks for the microphone leaves nothing on", async () => {
    const oracle = await callee();
    const agent = new LiveAgent();
    const calling = agent.call(oracle.host, audio);
    agent.end();
    await calling;
    expectAllOff();
    expect(oracle.requests).toEqual([]);
    expect(oracle.released).toBe(1);
  });

  test("given up while the oracle answers is ended there too", async () => {
    const oracle = await callee();
    const agent = new LiveAgent();
    const sign = oracle.identity;
    oracle.identity = (id) => {
      agent.end();
      return sign(id);
    };
    await agent.call(oracle.host, audio);
    expectAllOff();
    expect(oracle.socket.replies("call_end")).toEqual([{ callId: "c1", reason: "hangup" }]);
  });

  test("is one at a time", async () => {
    const { oracle, agent, state } = await talking();
    await agent.call(oracle.host, audio);
    expect(state()).toMatchObject({ phase: "connected", error: { code: "busy" } });
  });

  test("mutes the microphone and hides the camera by switching the tracks off", async () => {
    const { oracle, agent, state } = await talking({ callType: "video" });
    const [microphone, camera] = media.streams[0]?.getTracks() ?? [];
    agent.mute(true);
    expect([microphone?.enabled, camera?.enabled, state().isMuted]).toEqual([false, true, true]);
    expect(oracle.peer().channel.sent).toEqual([{ type: "mute", muted: true }]);
    agent.mute(false);
    agent.hideCamera(true);
    expect([microphone?.enabled, camera?.enabled]).toEqual([true, false]);
  });

  test("carries typed text, unless it is too long or nobody reads it", async () => {
    const { oracle, agent } = await talking();
    const { channel } = oracle.peer();
    expect(agent.sendText("hello")).toBe(true);
    agent.interrupt();
    expect(channel.sent).toEqual([{ type: "text", text: "hello" }, { type: "interrupt" }]);
    expect(agent.sendText("€".repeat(6000))).toBe(false);
    agent.end();
    expect(agent.sendText("hello")).toBe(false);
  });

  test("takes no harm from what the data channel says", async () => {
    const { oracle, state } = await talking();
    const before = state();
    const { channel } = oracle.peer();
    for (const junk of ["", "{", "null", "7", "[]", "x".repeat(20_000)]) channel.say(junk);
    channel.say({ type: "state", state: "dancing" });
    channel.say({ type: "caption", id: 7, text: {} });
    expect(state()).toEqual(before);
    for (let i = 0; i < 300; i++) channel.say({ type: "caption", id: `${i}`, text: "x" });
    expect(state().captions).toHaveLength(200);
  });

  test("shows what went wrong in the middle until the talk goes on", async () => {
    const { oracle, state } = await talking();
    const { channel } = oracle.peer();
    channel.say({ type: "error", code: "stt_failed", message: "Not understood." });
    expect(state().error).toMatchObject({ code: "stt_failed", message: "Not understood." });
    channel.say({ type: "caption", id: "1", role: "user", text: "again", final: true });
    expect(state()).toMatchObject({ phase: "connected", error: undefined });
  });
});

describe("who answers", () => {
  test.each<[string, (o: Awaited<ReturnType<typeof callee>>) => unknown]>([
    ["signs nothing", (o) => (o.identity = () => undefined as never)],
    ["signs another call", (o) => (o.identity = () => o.sign("other"))],
    ["is somebody else", async (o) => (o.identity = (await signer()).sign)],
    ["has another certificate", (o) => (o.answerSdp = "a=fingerprint:sha-256 00:00\r\n")],
    ["shows no certificate", (o) => (o.answerSdp = "v=0\r\n")],
  ])("and %s is refused before any media", async (_, tamper) => {
    const oracle = await callee();
    await tamper(oracle);
    const agent = new LiveAgent();
    await agent.call(oracle.host, audio);
    expect(agent.state.get()).toMatchObject({
      phase: "ended",
      endReason: "fingerprint_mismatch",
      error: { name: "CallIdentityError" },
    });
    expect(oracle.peer().remoteDescription).toBeNull();
    expect(oracle.peer().connectionState).toBe("closed");
    expect(oracle.socket.replies("call_end")).toMatchObject([
      { callId: "c1", reason: "fingerprint_mismatch" },
    ]);
    expectAllOff();
  });

  test("is asked nothing when the oracle's keys are not known", async () => {
    const unknown = async () => Promise.reject(new Error("no key"));
    const { oracle, state } = await called({}, { keys: unknown });
    expect(state()).toMatchObject({ phase: "ended", error: { message: "no key" } });
    expect(oracle.requests).toEqual([]);
  });
});

describe("devices", () => {
  test.each([
    ["NotAllowedError", "microphone_refused", /may not be used/],
    ["NotFoundError", "microphone_missing", /not found/],
    ["NotReadableError", "microphone_busy", /another program/],
    ["StrangeError", "microphone_failed", /StrangeError/],
  ])("that fail with %s are told as %s", async (name, code, message) => {
    media.getUserMedia.mockRejectedValue(new DOMException("", name));
    const { oracle, state } = await called();
    expect(state()).toMatchObject({ phase: "ended", endReason: code });
    expect(state().error?.message).toMatch(message);
    expect(oracle.requests).toEqual([]);
    expect(oracle.released).toBe(1);
  });

  test("need a secure page", async () => {
    vi.stubGlobal("navigator", {});
    expect((await called()).state().error?.message).toMatch(/secure page/);
  });

  test("are those that were chosen", async () => {
    await called({ callType: "video", microphoneId: "m", cameraId: "c" });
    expect(media.getUserMedia).toHaveBeenCalledWith({
      audio: { deviceId: { exact: "m" } },
      video: { deviceId: { exact: "c" } },
    });
  });
});

describe("candidates", () => {
  test("wait for the other side, both ways", async () => {
    const oracle = await callee();
    let answer: (value: unknown) => void = () => undefined;
    oracle.socket.answer = () => new Promise((done) => (answer = done));
    const agent = new LiveAgent();
    const calling = agent.call(oracle.host, audio);
    await until(() => oracle.socket.replies("call_offer").length === 1);
    const peer = oracle.peer();
    peer.onicecandidate?.({ candidate: { candidate: "mine" } });
    oracle.say("call_ice", { candidate: { candidate: "theirs" } });
    oracle.socket.say("call_ice", { callId: "another", candidate: { candidate: "foreign" } });
    expect(oracle.socket.replies("call_ice")).toEqual([]);
    expect(peer.candidates).toEqual([]);
    answer({ ok: true, sdp: oracle.answerSdp });
    await calling;
    expect(oracle.socket.replies("call_ice")).toEqual([
      { callId: "c1", candidate: { candidate: "mine" } },
    ]);
    oracle.say("call_ice", { candidate: null });
    expect(peer.candidates).toEqual([{ candidate: "theirs" }, undefined]);
  });
});

describe("a network that changes", () => {
  test("is given a moment to heal by itself", async () => {
    const { oracle, state } = await talking();
    const peer = oracle.peer();
    peer.becomes("disconnected");
    expect(state().phase).toBe("reconnecting");
    await vi.advanceTimersByTimeAsync(1000);
    peer.becomes("connected");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(peer.offers).toHaveLength(1);
    expect(state().phase).toBe("connected");
  });

  test("is looked for another way, in the same call", async () => {
    const { oracle, state } = await talking();
    const peer = oracle.peer();
    peer.becomes("disconnected");
    await vi.advanceTimersByTimeAsync(1500);
    await until(() => oracle.socket.replies("call_offer").length === 2);
    expect(peer.offers.at(-1)).toEqual({ iceRestart: true });
    expect(oracle.socket.replies("call_offer").at(-1)).toMatchObject({ restart: true });
    peer.becomes("connected");
    expect(state().phase).toBe("connected");
    expect(oracle.requests).toHaveLength(1);
  });

  test("is looked for at once when the browser says so, or the socket is back", async () => {
    const { oracle } = await talking();
    const peer = oracle.peer();
    const answered = peer.remoteDescription;
    peer.becomes("failed");
    await vi.advanceTimersByTimeAsync(0);
    await until(() => peer.remoteDescription !== answered);
    expect(peer.offers).toHaveLength(2);
    peer.becomes("connected");
    oracle.connected.set(false);
    oracle.connected.set(true);
    await vi.advanceTimersByTimeAsync(0);
    await until(() => peer.offers.length === 3);
  });

  test("is tried again while nobody answers, and given up after half a minute", async () => {
    const { oracle, state } = await talking();
    const peer = oracle.peer();
    oracle.socket.answer = () => Promise.reject(new Error("operation has timed out"));
    peer.becomes("failed");
    await vi.advanceTimersByTimeAsync(29_000);
    expect(state().phase).toBe("reconnecting");
    expect(peer.offers.length).toBeGreaterThan(3);
    await vi.advanceTimersByTimeAsync(1000);
    expect(state()).toMatchObject({ phase: "ended", endReason: "timeout" });
    expectAllOff();
  });

  test("that brings another certificate ends the call", async () => {
    const { oracle, state } = await talking();
    oracle.answerSdp = "a=fingerprint:sha-256 00:00\r\n";
    oracle.peer().becomes("failed");
    await vi.advanceTimersByTimeAsync(0);
    await until(() => state().phase === "ended");
    expect(state().endReason).toBe("fingerprint_mismatch");
  });

  test.each([
    ["call_ended", "ended"],
    ["not_found", "ended"],
    ["unavailable", "reconnecting"],
  ])("and a refusal as %s leaves the call %s", async (code, phase) => {
    const { oracle, state } = await talking();
    oracle.socket.answer = async () => ({ ok: false, error: { code, message: "No." } });
    oracle.peer().becomes("failed");
    await vi.advanceTimersByTimeAsync(0);
    await until(() => oracle.socket.replies("call_offer").length === 2);
    await until(() => state().phase === phase);
  });

  test("that never connects is given up", async () => {
    const { state } = await called();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(state()).toMatchObject({ phase: "ended", error: { code: "timeout" } });
    expectAllOff();
  });
});

describe("an end by the oracle", () => {
  test.each(["token_revoked", "limit", "hangup"])("for %s is told", async (reason) => {
    const { oracle, state } = await talking();
    oracle.say("call_end", { reason });
    expect(state()).toMatchObject({ phase: "ended", endReason: reason });
    expectAllOff();
  });

  test("is heard on the data channel as well", async () => {
    const { oracle, state } = await talking();
    oracle.peer().channel.say({ type: "bye", reason: "limit" });
    expect(state()).toMatchObject({ phase: "ended", endReason: "limit" });
  });

  test("because its node goes away calls again, with the same devices and captions", async () => {
    const { oracle, state } = await talking();
    const old = oracle.peer();
    old.channel.say({ type: "caption", id: "1", role: "user", text: "hello", final: true });
    oracle.say("call_moved", { reason: "drain" });
    old.channel.say({ type: "bye", reason: "drain" });
    oracle.say("call_end", { reason: "drain" });
    expect(state().phase).toBe("reconnecting");
    await until(() => oracle.peer().remoteDescription !== null && oracle.peer() !== old);
    expect(old.connectionState).toBe("closed");
    expect(oracle.requests.filter((r) => r.path === "/calls")).toHaveLength(2);
    oracle.peer().becomes("connected");
    expect(state()).toMatchObject({ phase: "connected", callId: "c2" });
    expect(state().captions).toHaveLength(1);
    expect(media.streams).toHaveLength(1);
    expect(media.streams[0]?.getTracks()[0]?.stopped).toBe(false);
    // What the old call says now concerns nobody.
    oracle.socket.say("call_end", { callId: "c1", reason: "drain" });
    expect(state().phase).toBe("connected");
  });

  test("and no node that takes the call is waited for, but not for ever", async () => {
    const { oracle, state } = await talking();
    oracle.refuse = new RequestError(503, "full");
    oracle.say("call_end", { reason: "interrupted" });
    await until(() => oracle.requests.length === 2 && vi.getTimerCount() > 0);
    expect(state().phase).toBe("reconnecting");
    await vi.advanceTimersByTimeAsync(1000);
    await until(() => state().callId === "c2");
    oracle.refuse = new RequestError(429, "Too many calls");
    oracle.say("call_moved");
    await until(() => state().phase === "ended");
    expect(state()).toMatchObject({ phase: "ended", error: { message: "Too many calls" } });
    expectAllOff();
  });
});

describe("the credential of a call", () => {
  test("is renewed a minute before it ends", async () => {
    const oracle = await callee();
    oracle.expiresAt = Date.now() + 300_000;
    const agent = new LiveAgent();
    await agent.call(oracle.host, audio);
    oracle.peer().becomes("connected");
    await vi.advanceTimersByTimeAsync(240_000);
    expect(oracle.socket.replies("call_renew")).toEqual([{ callId: "c1", invocation: "fresh1" }]);
    await vi.advanceTimersByTimeAsync(540_000);
    expect(oracle.renewals).toBe(2);
    agent.end();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(oracle.renewals).toBe(2);
  });

  test("is not asked for again when the call may not last longer", async () => {
    const oracle = await callee();
    const end = Date.now() + 300_000;
    oracle.expiresAt = end;
    const before = oracle.socket.answer;
    oracle.socket.answer = (name, p) =>
      name === "call_renew" ? { ok: true, expiresAt: end } : before(name, p);
    const agent = new LiveAgent();
    await agent.call(oracle.host, audio);
    oracle.peer().becomes("connected");
    await vi.advanceTimersByTimeAsync(290_000);
    expect(oracle.renewals).toBe(1);
  });
});

describe("a call that stays", () => {
  test("goes on with another microphone and camera, muted as it was", async () => {
    const { agent, oracle, state } = await talking({ callType: "video" });
    agent.mute(true);
    const [microphone, camera] = media.streams[0]?.getTracks() ?? [];
    await agent.change({ microphoneId: "m2" });
    expect(media.getUserMedia).toHaveBeenLastCalledWith({ audio: { deviceId: { exact: "m2" } } });
    const [other] = media.streams[1]?.getTracks() ?? [];
    expect(oracle.peer().replaced).toEqual([other]);
    expect([microphone?.stopped, camera?.stopped, other?.stopped]).toEqual([true, false, false]);
    expect(other?.enabled).toBe(false);
    expect(state().localStream?.getTracks()).toEqual([camera, other]);
    agent.mute(false);
    expect(other?.enabled).toBe(true);
    await agent.change({ cameraId: "" });
    expect(media.getUserMedia).toHaveBeenLastCalledWith({ video: true });
    expect(camera?.stopped).toBe(true);
    expect(oracle.peer().offers).toHaveLength(1);
    agent.end();
    expectAllOff();
  });

  test("keeps the device that it has when another cannot be had", async () => {
    const { agent, oracle, state } = await talking();
    media.getUserMedia.mockRejectedValueOnce(new DOMException("", "NotReadableError"));
    await agent.change({ microphoneId: "m2" });
    expect(state()).toMatchObject({ phase: "connected", error: { code: "microphone_busy" } });
    expect(media.streams[0]?.getTracks().map((track) => track.stopped)).toEqual([false]);
    await agent.change({ cameraId: "c2" }); // a voice call
    expect(state().error).toMatchObject({ code: "not_sent" });
    expect(media.streams.at(-1)?.getTracks()[0]?.stopped).toBe(true);
    expect(oracle.peer().replaced).toEqual([]);
    agent.end();
    await agent.change({ microphoneId: "m3" });
    expectAllOff();
  });

  test("a device that is opened when the call has ended is let go", async () => {
    const { agent } = await talking();
    const changing = agent.change({ microphoneId: "m2" });
    agent.end();
    await changing;
    expectAllOff();
  });

  test("is left as it is for the next page, which goes on with it", async () => {
    const { agent, oracle, state } = await talking({ microphoneId: "m1" });
    await agent.change({ microphoneId: "m2" });
    const left = agent.leave();
    expect(left).toMatchObject({ ...audio, callId: "c1", microphoneId: "m2" });
    expect(state()).toMatchObject({ phase: "ended", endReason: "left" });
    expect(oracle.socket.replies("call_end")).toEqual([]);
    expectAllOff();
    const next = new LiveAgent();
    await next.call(oracle.host, left as CallOptions);
    expect(oracle.requests.filter((r) => r.method === "POST")).toHaveLength(1);
    expect(oracle.requests.at(-1)).toEqual({ path: "/calls/c1" });
    expect(oracle.socket.replies("call_offer")).toHaveLength(2);
    oracle.peer().becomes("connected");
    expect(next.state.get()).toMatchObject({ phase: "connected", callId: "c1" });
    expect(next.leave()?.callId).toBe("c1");
    expect(new LiveAgent().leave()).toBeUndefined();
  });

  test("that has ended meanwhile is not made anew", async () => {
    const oracle = await callee();
    oracle.found = { callStatus: "ended" };
    const agent = new LiveAgent();
    await agent.call(oracle.host, { ...audio, callId: "c9" });
    expect(agent.state.get()).toMatchObject({ phase: "ended", error: { code: "call_ended" } });
    expect(oracle.requests).toEqual([{ path: "/calls/c9" }]);
    expect(oracle.socket.replies("call_end")).toEqual([]);
    expectAllOff();
  });

  test("that cannot be taken over goes on where it is", async () => {
    const oracle = await callee();
    oracle.socket.answer = async () => ({ ok: false, error: { code: "invalid", message: "no" } });
    const agent = new LiveAgent();
    await agent.call(oracle.host, { ...audio, callId: "c9" });
    expect(agent.state.get()).toMatchObject({ phase: "ended" });
    expect(agent.state.get().error).toBeDefined();
    expect(oracle.socket.replies("call_end")).toEqual([]);
    expectAllOff();
    oracle.socket.answer = async () => ({
      ok: true,
      sdp: "v=0\r\na=fingerprint:SHA-256 ab:cd\r\n",
    });
    await agent.call(oracle.host, { ...audio, callId: "c9" });
    agent.end();
    expect(oracle.socket.replies("call_end")).toEqual([
      { callId: "c9", reason: "hangup", fingerprint: "sha-256 AA:BB" },
    ]);
  });

  test("that another tab took over ends here alone", async () => {
    const { oracle, state } = await talking();
    oracle.say("call_end", { reason: "taken" });
    expect(state()).toMatchObject({ phase: "ended", endReason: "taken" });
    expect(oracle.socket.replies("call_end")).toEqual([]);
    expectAllOff();
  });
});
