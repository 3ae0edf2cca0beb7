// @vitest-environment jsdom
import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { chatOptions, overrides, page } from "../react/kit";
import { useChat } from "../react/useChat";
import { json } from "../testkit/oracle";
import { FakeSocket } from "../testkit/socket";
import { useApprovals } from "./useApprovals";

vi.mock("../core/line", () => import("../testkit/socket"));
beforeEach(() => {
  FakeSocket.all = [];
  localStorage.clear();
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const call = (id: string) => ({
  id,
  runId: "run-1",
  sessionId: "$s",
  toolCallId: `call-${id}`,
  toolName: "send",
  args: { text: "hi" },
  reason: "confirm",
  schema: {},
  createdAt: "2026-11-16T10:00:00.000Z",
  expiresAt: "2026-11-17T10:00:00.000Z",
});

/** A page with what waits at its oracle, and what it answered. */
async function opened(...ids: string[]) {
  const { oracle, Page } = page();
  const at = { waits: ids.map(call), answers: [] as unknown[], status: 200 };
  oracle.on("GET", /^\/approvals/, () => json({ approvals: at.waits }));
  oracle.on("POST", /^\/approvals\//, ({ path, body }) => {
    at.answers.push([path, body]);
    return at.status === 200 ? json({}) : json({ message: "no" }, at.status);
  });
  const hook = renderHook(
    () => useApprovals({ oracleDid: "did:o", sessionId: "$s", overrides: { ...overrides } }),
    { wrapper: Page },
  );
  await act(() => vi.dynamicImportSettled());
  await waitFor(() => expect(hook.result.current.isLoading).toBe(false));
  const socket = FakeSocket.all[0] as FakeSocket;
  const shown = () => hook.result.current.approvals.map((a) => `${a.id} ${a.state}`);
  return { hook, at, oracle, socket, shown, get: () => hook.result.current };
}

test("what waits is there after a reload, and answered once", async () => {
  const { at, shown, get } = await opened("a", "b");
  expect(shown()).toEqual(["a waiting", "b waiting"]);
  await act(() => get().approve("a"));
  expect(shown()).toEqual(["b waiting"]);
  await act(() => get().deny("b"));
  expect(shown()).toEqual([]);
  expect(at.answers).toEqual([
    ["/approvals/a", { decision: "approve" }],
    ["/approvals/b", { decision: "deny" }],
  ]);
});

test("the line tells what is asked, what was answered elsewhere and what came too late", async () => {
  const { at, socket, shown } = await opened();
  at.waits = [call("a"), call("b")];
  act(() => socket.say("approval_required", { sessionId: "$s", approvals: at.waits }));
  expect(shown()).toEqual(["a waiting", "b waiting"]);
  act(() => socket.say("approval_answered", { approvalId: "a", decision: "deny" }));
  act(() => socket.say("approval_answered", { approvalId: "b", decision: "expired" }));
  expect(shown()).toEqual(["b expired"]);
  at.waits = [];
  await act(async () => socket.say("message_cache_invalidation", { requestId: "r" }));
  expect(shown()).toEqual(["b expired"]);
  act(() => socket.say("run_started", { runId: "run-2" }));
  expect(shown()).toEqual([]);
});

test("a turn that ends otherwise takes its questions along, also while the line was away", async () => {
  const { at, socket, shown } = await opened("a");
  at.waits = [];
  await act(async () => socket.say("message_cache_invalidation", { requestId: "r" }));
  await waitFor(() => expect(shown()).toEqual([]));
  at.waits = [call("b")];
  act(() => socket.line("disconnect", "transport close"));
  await act(async () => socket.say("connected", { sessionId: "$s" }));
  await waitFor(() => expect(shown()).toEqual(["b waiting"]));
});

test("an answer that is too late, that somebody else gave, or that was lost", async () => {
  const { at, shown, get } = await opened("a", "b", "c");
  at.status = 410;
  await act(() => get().approve("a"));
  at.status = 409;
  at.waits = [call("c")];
  await act(() => get().approve("b"));
  expect(shown()).toEqual(["a expired", "c waiting"]);
  at.status = 503;
  await act(() => expect(get().deny("c")).rejects.toThrow("no"));
  expect(shown()).toEqual(["a expired", "c waiting"]);
});

test("what was asked or answered before the line was there is not missed", async () => {
  const { at, socket, shown } = await opened("a");
  // Another tab answers, and the turn goes on to its next question; nobody is told of it here.
  at.waits = [call("b")];
  await act(async () => socket.say("connected", { sessionId: "$s" }));
  await waitFor(() => expect(shown()).toEqual(["b waiting"]));
});

test("what is answered while it is being read stays answered", async () => {
  const { at, oracle, socket, shown, get } = await opened("a", "b");
  let answer: () => void = () => undefined;
  const before = at.waits;
  let reads = 0;
  oracle.on("GET", /^\/approvals/, () => {
    if (reads++ > 0) return json({ approvals: at.waits });
    return new Promise<Response>((done) => (answer = () => done(json({ approvals: before }))));
  });
  act(() => void window.dispatchEvent(new Event("focus")));
  await waitFor(() => expect(reads).toBe(1));
  at.waits = [];
  act(() => socket.say("approval_answered", { approvalId: "a", decision: "deny" }));
  await act(() => get().deny("b"));
  expect(shown()).toEqual([]);
  await act(async () => answer());
  await waitFor(() => expect(reads).toBe(2));
  await waitFor(() => expect(shown()).toEqual([]));
});

test("who joins a line that is there reads what it told before", async () => {
  const { oracle, Page } = page();
  const at = { waits: [call("a")] };
  oracle.on("GET", /^\/approvals/, () => json({ approvals: at.waits }));
  const hook = renderHook(
    ({ asks }) => {
      useChat(chatOptions());
      const sessionId = asks ? "$s" : "";
      return useApprovals({ oracleDid: "did:o", sessionId, overrides: { ...overrides } });
    },
    { wrapper: Page, initialProps: { asks: false } },
  );
  await act(() => vi.dynamicImportSettled());
  act(() => FakeSocket.all[0]?.line("connect"));
  const read = () => oracle.requests("GET", /^\/approvals/).length;
  hook.rerender({ asks: true });
  await waitFor(() => expect(read()).toBe(2));
  await waitFor(() => expect(hook.result.current.approvals).toHaveLength(1));
});
