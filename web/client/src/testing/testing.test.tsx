// @vitest-environment jsdom
import { act, configure, renderHook, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, it, vi } from "vitest";
import { z } from "zod";
import {
  useChat,
  useGetOpenIdToken,
  useMemoryEngine,
  useModels,
  useOracleSessions,
  type IChatOptions,
} from "..";
import { FakeOracle, FakeOraclesProvider, type FakeStream } from ".";

// A busy machine is slow, not wrong.
configure({ asyncUtilTimeout: 15_000 });

afterEach(() => vi.unstubAllGlobals());

function around(oracle: FakeOracle) {
  return ({ children }: { children: ReactNode }) => (
    <FakeOraclesProvider oracle={oracle}>{children}</FakeOraclesProvider>
  );
}

function chatWith(oracle: FakeOracle, more: Partial<IChatOptions> = {}) {
  // Nothing of a page may leave the test.
  vi.stubGlobal("fetch", () => Promise.reject(new Error("a request left the test")));
  const paid = vi.fn();
  const hook = renderHook(
    () =>
      useChat({
        oracleDid: oracle.did,
        sessionId: "$s",
        onPaymentRequiredError: paid,
        ...more,
      }),
    { wrapper: around(oracle) },
  );
  return { ...hook, paid };
}

const said = (messages: { content: unknown }[]) => messages.map((m) => m.content);

it("answers a message and remembers it", async () => {
  const oracle = new FakeOracle();
  oracle.respond = (message) => ({ text: `About ${message}: yes.`, reasoning: "Let me see." });
  const { result } = chatWith(oracle);
  await waitFor(() => expect(oracle.sockets).toHaveLength(1));
  await waitFor(() => expect(result.current.isRealTimeConnected).toBe(true));
  await act(() => result.current.sendMessage("rain"));
  await waitFor(() => expect(said(result.current.messages)).toEqual(["rain", "About rain: yes."]));
  expect(said(oracle.history.get("$s") ?? [])).toEqual(["rain", "About rain: yes."]);
  expect(oracle.requests("POST", /^\/messages\//)).toHaveLength(1);
});

it("streams by hand, for pages that show what is under way", async () => {
  const oracle = new FakeOracle();
  const { result } = chatWith(oracle, { streamingMode: "immediate" });
  await waitFor(() => expect(oracle.sockets).toHaveLength(1));
  const opened = oracle.stream();
  let sent: Promise<unknown> | undefined;
  let stream: FakeStream | undefined;
  await act(async () => {
    sent = result.current.sendMessage("hello");
    stream = await opened;
    stream.frame(1, "message", { content: "Half" });
  });
  await waitFor(() => expect(said(result.current.messages)).toEqual(["hello", "Half"]));
  await act(async () => {
    stream?.frame(2, "done", { status: "finished" }).end();
    await sent;
  });
});

it("asks for payment", async () => {
  const oracle = new FakeOracle().requirePayment("c1", "c2");
  const { paid } = chatWith(oracle);
  await waitFor(() => expect(paid).toHaveBeenCalledWith(["c1", "c2"]));
});

it("calls the page's tools and hears their answer", async () => {
  const oracle = new FakeOracle();
  chatWith(oracle, {
    browserTools: {
      double: {
        toolName: "double",
        description: "Doubles a number",
        schema: z.object({ n: z.number() }),
        fn: async ({ n }: { n: number }) => ({ twice: 2 * n }),
      },
    },
  });
  await waitFor(() => expect(oracle.sockets).toHaveLength(1));
  await expect(oracle.callTool("double", { n: 21 })).resolves.toMatchObject({
    result: { twice: 42 },
  });
  await expect(oracle.callTool("double", { n: "x" })).resolves.toMatchObject({ result: null });
});

it("keeps sessions, memories and models", async () => {
  const oracle = new FakeOracle();
  const { result } = renderHook(
    () => ({
      sessions: useOracleSessions(oracle.did),
      memory: useMemoryEngine(oracle.did),
      models: useModels(oracle.did),
    }),
    { wrapper: around(oracle) },
  );
  await waitFor(() => expect(result.current.models.defaultModel).toBe("fake"));
  const made = await act(() => result.current.sessions.createSession());
  expect(result.current.sessions.sessions.map((s) => s.sessionId)).toEqual([made.sessionId]);
  await act(() => result.current.sessions.deleteSession(made.sessionId));
  expect(result.current.sessions.total).toBe(0);
  await act(async () => void (await result.current.memory.remember("tea, not coffee")));
  await waitFor(() =>
    expect(result.current.memory.memories.map((m) => m.text)).toEqual(["tea, not coffee"]),
  );
});

it("hands out one stream a question; other messages are answered as ever", async () => {
  const oracle = new FakeOracle();
  const { result } = chatWith(oracle);
  await waitFor(() => expect(oracle.sockets).toHaveLength(1));
  const opened = oracle.stream();
  await act(async () => {
    const sent = result.current.sendMessage("first");
    (await opened).frame(1, "message", { content: "By hand" }).cut();
    await sent;
  });
  // A stream that broke leaves what the history has.
  await waitFor(() => expect(said(result.current.messages)[0]).toBe("first"));
  await act(() => result.current.sendMessage("second"));
  await waitFor(() => expect(said(result.current.messages).at(-1)).toBe("You said: second"));
});

it("hears the answers of calls that are made at the same time", async () => {
  const oracle = new FakeOracle();
  const tool = (toolName: string) => ({
    toolName,
    description: "Says its name",
    schema: z.object({}),
    fn: async () => toolName,
  });
  chatWith(oracle, { browserTools: { a: tool("a"), b: tool("b") } });
  await waitFor(() => expect(oracle.sockets).toHaveLength(1));
  const answers = await Promise.all([oracle.callTool("a"), oracle.callTool("b")]);
  expect(answers.map((answer) => answer.result)).toEqual(["a", "b"]);
});

it("is the user's Matrix server too", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new Error("a request left the test")));
  const oracle = new FakeOracle();
  const { result } = renderHook(() => useGetOpenIdToken(), { wrapper: around(oracle) });
  await waitFor(() => expect(result.current.openIdToken?.access_token).toBe("fake"));
});

it("says that nobody is there to be called", async () => {
  await expect(new FakeOracle().callTool("any")).rejects.toThrow("No page is connected");
});

it("keeps versions of turns and what readers think of answers", async () => {
  const oracle = new FakeOracle();
  let times = 0;
  oracle.respond = (message) => `${message}, ${++times}`;
  const { result } = chatWith(oracle);
  await waitFor(() => expect(result.current.isRealTimeConnected).toBe(true));
  await act(() => result.current.sendMessage("rain"));
  await act(() => result.current.sendMessage("snow"));
  await act(() => result.current.regenerate());
  await waitFor(() =>
    expect(said(result.current.messages)).toEqual(["rain", "rain, 1", "snow", "snow, 3"]),
  );
  const question = () => result.current.messages.findLast((m) => m.type === "human");
  expect(question()?.version).toMatchObject({ number: 2, count: 2, kind: "regenerated" });
  await act(() => result.current.editMessage(question()?.id ?? "", "hail"));
  await waitFor(() => expect(question()?.version).toMatchObject({ number: 3, kind: "edited" }));
  await act(() => result.current.chooseVersion(question()?.version?.messageIds[0] ?? ""));
  await waitFor(() =>
    expect(said(result.current.messages)).toEqual(["rain", "rain, 1", "snow", "snow, 2"]),
  );
  expect(question()?.version).toMatchObject({ number: 1, count: 3, kind: "original" });
  const answer = () => result.current.messages.at(-1);
  await act(() => result.current.sendFeedback(answer()?.id ?? "", "down", "Wrong season"));
  expect(answer()?.feedback).toEqual({ rating: "down", text: "Wrong season" });
  await act(() => result.current.refetchMessages());
  expect(answer()?.feedback).toEqual({ rating: "down", text: "Wrong season" });
  await act(() => result.current.sendFeedback(answer()?.id ?? "", null));
  await act(() => result.current.refetchMessages());
  expect(answer()?.feedback).toBeUndefined();
  await expect(result.current.chooseVersion("m-none")).rejects.toThrow("There is no such version");
});
