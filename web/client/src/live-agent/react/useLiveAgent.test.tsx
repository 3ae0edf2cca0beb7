// @vitest-environment jsdom
import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import { StrictMode, type ReactNode } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { json } from "../../testkit/oracle";
import { FakePeer, stubMedia } from "../../testkit/rtc";
import { FakeSocket } from "../../testkit/socket";
import { overrides, page } from "../../react/kit";
import { signer } from "../core/kit";
import { useLiveAgent, type UseLiveAgentOptions } from "./useLiveAgent";

vi.mock("../../core/line", () => import("../../testkit/socket"));
let media: ReturnType<typeof stubMedia>;
beforeEach(() => {
  FakeSocket.all = [];
  localStorage.clear();
  sessionStorage.clear();
  media = stubMedia();
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const sdp = "v=0\r\na=fingerprint:sha-256 AB:CD\r\n";

async function setUp(strict = false) {
  const oracle = await signer();
  const { oracle: server, Page } = page();
  server.on("POST", /^\/calls$/, async () =>
    json(
      { callId: "c1", identity: await oracle.sign("c1"), speech: { stt: true, tts: true } },
      201,
    ),
  );
  const wrapper = ({ children }: { children: ReactNode }) =>
    strict ? (
      <StrictMode>
        <Page>{children}</Page>
      </StrictMode>
    ) : (
      <Page>{children}</Page>
    );
  const options: UseLiveAgentOptions = { oracleDid: oracle.did, overrides };
  return { oracle, server, wrapper, options };
}

/** A hook whose client has loaded what conversations are made with. */
async function shown<R, P>(...hook: Parameters<typeof renderHook<R, P>>) {
  const made = renderHook(...hook);
  await act(() => vi.dynamicImportSettled());
  return made;
}

/** The session's socket, answering offers. */
async function socket(): Promise<FakeSocket> {
  await waitFor(() => expect(FakeSocket.all.length).toBeGreaterThan(0));
  const line = FakeSocket.all.at(-1) as FakeSocket;
  line.answer = async () => ({ ok: true, sdp });
  line.line("connect");
  return line;
}

test("outside the provider it says so", () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  expect(() => renderHook(() => useLiveAgent({ oracleDid: "did:o" }))).toThrow(
    new Error("useOraclesContext must be used within a OraclesProvider"),
  );
});

test.each([false, true])("calls, talks and hangs up (strict: %s)", async (strict) => {
  const { options, wrapper, server } = await setUp(strict);
  const { result } = await shown(() => useLiveAgent({ ...options }), { wrapper });
  expect(result.current).toMatchObject({
    isConfigReady: true,
    isReady: true,
    isCalling: false,
    isConnecting: false,
    sessionStarted: false,
    sessionViewVisible: false,
    phase: "idle",
  });
  let calling: Promise<void> = Promise.resolve();
  act(() => {
    calling = result.current.callAgent({ callType: "audio", sessionId: "$s", language: "en" });
  });
  expect(result.current).toMatchObject({
    isReady: false,
    isCalling: true,
    isConnecting: true,
    sessionStarted: false,
    sessionViewVisible: true,
  });
  const line = await socket();
  await act(() => calling);
  expect(server.requests("POST", /^\/calls$/)).toMatchObject([
    { body: { sessionId: "$s", callType: "audio", language: "en" } },
  ]);
  // The conversation itself is nobody's business here: its history is not read.
  expect(server.requests("GET", /messages/)).toEqual([]);
  const peer = FakePeer.all.at(-1) as FakePeer;
  act(() => {
    peer.becomes("connected");
    peer.channel.say({ type: "state", state: "speaking" });
  });
  expect(result.current).toMatchObject({
    isConnecting: false,
    isCalling: true,
    sessionStarted: true,
    state: "speaking",
  });
  act(() => result.current.mute());
  expect(result.current.isMuted).toBe(true);
  act(() => result.current.mute());
  expect(result.current.isMuted).toBe(false);
  expect(result.current.sendText("hello")).toBe(true);
  await act(() => result.current.endCall());
  expect(result.current).toMatchObject({ isCalling: false, isReady: true, endReason: "hangup" });
  expect(line.replies("call_end")).toEqual([
    { callId: "c1", reason: "hangup", fingerprint: "sha-256 AA:BB" },
  ]);
  for (const track of media.streams.flatMap((s) => s.getTracks())) expect(track.stopped).toBe(true);
});

test("the form of older libraries works, and errors are shown to the user", async () => {
  const { options, wrapper } = await setUp();
  const toast = vi.fn();
  media.getUserMedia.mockRejectedValue(new DOMException("", "NotAllowedError"));
  const { result } = await shown(
    () => useLiveAgent(options.oracleDid, {}, {}, toast, { ...overrides }),
    { wrapper },
  );
  expect(result.current.isReady).toBe(true);
  await act(() =>
    result.current.callAgent({
      callType: "video",
      sessionId: "$s",
      userDid: "did:ixo:ixo1a",
      agentVoice: "v",
      language: "en",
    }),
  );
  expect(result.current.error?.message).toMatch(/may not be used/);
  expect(toast).toHaveBeenCalledExactlyOnceWith({
    title: "Call",
    description: result.current.error?.message,
  });
});

test.each(["the component goes", "another oracle is shown"])(
  "when %s, the call ends and the microphone is let go",
  async (why) => {
    const { options, wrapper } = await setUp();
    const { result, unmount, rerender } = await shown(
      ({ did }: { did: string }) => useLiveAgent({ ...options, oracleDid: did }),
      { wrapper, initialProps: { did: options.oracleDid } },
    );
    let calling: Promise<void> = Promise.resolve();
    act(() => {
      calling = result.current.callAgent({ callType: "video", sessionId: "$s" });
    });
    const line = await socket();
    await act(() => calling);
    if (why === "the component goes") unmount();
    else rerender({ did: "did:key:other" });
    expect(line.replies("call_end")).toHaveLength(1);
    expect(media.streams[0]?.getTracks().map((t) => t.stopped)).toEqual([true, true]);
  },
);

test.each([false, true])(
  "a page that is reloaded goes on with its call, once (strict: %s)",
  async (strict) => {
    const { options, oracle, server, wrapper } = await setUp(strict);
    server.on("GET", /^\/calls\/c1$/, async () =>
      json({ callId: "c1", callStatus: "active", identity: await oracle.sign("c1") }),
    );
    const before = await shown(() => useLiveAgent(options), { wrapper });
    let calling: Promise<void> = Promise.resolve();
    act(() => {
      calling = before.result.current.callAgent({ callType: "audio", sessionId: "$s" });
    });
    const line = await socket();
    await act(() => calling);
    act(() => void dispatchEvent(new Event("pagehide")));
    expect(line.replies("call_end")).toEqual([]);
    expect(media.streams[0]?.getTracks().map((t) => t.stopped)).toEqual([true]);
    before.unmount();
    const { result } = await shown(() => useLiveAgent(options), { wrapper });
    await waitFor(() => expect(result.current.isCalling).toBe(true));
    await socket();
    await waitFor(() => expect(result.current.callId).toBe("c1"));
    expect(server.requests("POST", /^\/calls$/)).toHaveLength(1);
    const other = await shown(() => useLiveAgent(options), { wrapper });
    await act(() => new Promise((done) => setTimeout(done)));
    expect(other.result.current.isCalling).toBe(false);
  },
);

test("a page that the browser kept goes on with its call when it is shown again", async () => {
  const { options, oracle, server, wrapper } = await setUp();
  server.on("GET", /^\/calls\/c1$/, async () =>
    json({ callId: "c1", callStatus: "active", identity: await oracle.sign("c1") }),
  );
  const { result } = await shown(() => useLiveAgent(options), { wrapper });
  let calling: Promise<void> = Promise.resolve();
  act(() => {
    calling = result.current.callAgent({ callType: "audio", sessionId: "$s" });
  });
  await socket();
  await act(() => calling);
  act(() => void dispatchEvent(new Event("pagehide")));
  expect(result.current.isCalling).toBe(false);
  act(() => void dispatchEvent(Object.assign(new Event("pageshow"), { persisted: false })));
  expect(result.current.isCalling).toBe(false);
  act(() => void dispatchEvent(Object.assign(new Event("pageshow"), { persisted: true })));
  expect(result.current.isCalling).toBe(true);
  await socket();
  await waitFor(() => expect(result.current.callId).toBe("c1"));
  expect(server.requests("POST", /^\/calls$/)).toHaveLength(1);
});

test("calls that are on elsewhere are found", async () => {
  const { options, server, wrapper } = await setUp();
  const call = { callId: "c7", sessionId: "$s", callType: "audio", createdAt: "2026-11-17" };
  server.on("GET", /^\/calls$/, () => json({ calls: [call] }));
  const { result } = await shown(() => useLiveAgent(options), { wrapper });
  expect(await result.current.findCalls()).toEqual([call]);
  expect(result.current.canCall).toBe(true);
});

test("a browser without WebRTC is told what to do, and no microphone is asked for", async () => {
  vi.stubGlobal("RTCPeerConnection", undefined);
  const { options, wrapper } = await setUp();
  const { result } = await shown(() => useLiveAgent(options), { wrapper });
  expect(result.current.canCall).toBe(false);
  await act(() => result.current.callAgent({ callType: "audio", sessionId: "$s" }));
  expect(result.current.error).toMatchObject({ code: "unsupported" });
  expect(media.getUserMedia).not.toHaveBeenCalled();
});

test("an oracle whose keys nobody knows can be named by its key", async () => {
  const { options, oracle, wrapper } = await setUp();
  const { result, rerender } = await shown(
    (more: object) => useLiveAgent({ ...options, ...more }),
    {
      wrapper,
      initialProps: { oracleDid: "did:ixo:x" } as object,
    },
  );
  await act(() => result.current.callAgent({ callType: "audio", sessionId: "$s" }));
  expect(result.current.error?.message).toMatch(/no key of did:ixo:x is known/);
  rerender({ oracleDid: "did:ixo:x", oracleKey: oracle.multibase });
  let calling: Promise<void> = Promise.resolve();
  act(() => {
    calling = result.current.callAgent({ callType: "audio", sessionId: "$s" });
  });
  await socket();
  await act(() => calling);
  expect(result.current).toMatchObject({ callId: "c1", error: undefined });
});

test("an oracle that is not resolved yet is not called", async () => {
  const { wrapper } = await setUp();
  const { result } = await shown(() => useLiveAgent({ oracleDid: "did:ixo:x" }), { wrapper });
  expect(result.current.isReady).toBe(false);
  await act(() => result.current.callAgent({ callType: "audio", sessionId: "$s" }));
  expect(result.current).toMatchObject({ isCalling: false, error: { code: "not_ready" } });
  expect(media.getUserMedia).not.toHaveBeenCalled();
});

test("a call and a chat of the same session share one socket", async () => {
  const { options, wrapper } = await setUp();
  const { useChat } = await import("../../react/useChat");
  const { result } = await shown(
    () => {
      const onPaymentRequiredError = () => undefined;
      useChat({ ...options, sessionId: "$s", overrides, onPaymentRequiredError });
      return useLiveAgent(options);
    },
    { wrapper },
  );
  await socket();
  await act(() => result.current.callAgent({ callType: "audio", sessionId: "$s" }));
  expect(result.current.callId).toBe("c1");
  expect(FakeSocket.all).toHaveLength(1);
});
