// @vitest-environment jsdom
import { act, cleanup, render, renderHook, screen, waitFor } from "@testing-library/react";
import { StrictMode, useState } from "react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { packClaimApproval, packClaimGrant } from "../core/protocol";
import { json, Stream } from "../testkit/oracle";
import { FakeSocket } from "../testkit/socket";
import { useOraclesContext } from "./context";
import { chatOptions, overrides, page } from "./kit";
import { useAgAction } from "./useAgAction";
import { useChat } from "./useChat";
import { useContractOracle } from "./useContractOracle";
import { useGetOpenIdToken } from "./useGetOpenIdToken";
import { useMemoryEngine } from "./useMemoryEngine";
import { useModels } from "./useModels";
import { useOracleSessions } from "./useOracleSessions";
import { useOraclesConfig } from "./useOraclesConfig";

vi.mock("../core/line", () => import("../testkit/socket"));
beforeEach(() => {
  FakeSocket.all = [];
  localStorage.clear();
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const action = {
  name: "a",
  description: "",
  parameters: z.object({}),
  handler: async () => undefined,
};

test.each<[string, () => unknown]>([
  ["useOraclesContext", () => useOraclesContext()],
  ["useChat", () => useChat(chatOptions())],
  ["useAgAction", () => useAgAction(action)],
  ["useOracleSessions", () => useOracleSessions("did:o")],
  ["useOraclesConfig", () => useOraclesConfig("did:o")],
  ["useContractOracle", () => useContractOracle()],
  ["useMemoryEngine", () => useMemoryEngine("did:o")],
  ["useGetOpenIdToken", () => useGetOpenIdToken()],
  ["useModels", () => useModels("did:o")],
])("%s outside the provider says so", (_, hook) => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  expect(() => renderHook(hook)).toThrow(
    new Error("useOraclesContext must be used within a OraclesProvider"),
  );
});

test("the provider names what it needs", () => {
  const { Page } = page();
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  expect(() => render(<Page createDelegation={undefined as never} />)).toThrow("createDelegation");
});

describe("useChat", () => {
  function Consumer({ name }: { name: string }) {
    const chat = useChat(chatOptions());
    return <p>{`${name} ${chat.messages.length} ${chat.isRealTimeConnected}`}</p>;
  }

  test("three consumers in StrictMode: one socket, one history, one resume", async () => {
    const { Page, oracle, mint } = page();
    oracle.history = [{ id: "1", type: "human", content: "hi" }];
    oracle.run = { runId: "run-1", status: "running" };
    oracle.on("GET", /^\/runs\//, (_, signal) => new Stream(signal).response());
    const view = render(
      <StrictMode>
        <Page>
          <Consumer name="a" />
          <Consumer name="b" />
          <Consumer name="c" />
        </Page>
      </StrictMode>,
    );
    await waitFor(() => expect(oracle.requests("GET", /^\/runs\//)).toHaveLength(1));
    act(() => FakeSocket.all[0]?.line("connect"));
    await screen.findByText("c 2 true");
    expect(screen.getByText("a 2 true")).toBeTruthy();
    expect(FakeSocket.all).toHaveLength(1);
    expect(oracle.requests("GET", /messages/)).toHaveLength(1);
    expect(oracle.requests("GET", /run$/)).toHaveLength(1);
    expect(mint).toHaveBeenCalledTimes(1);
    view.unmount();
    await waitFor(() => expect(FakeSocket.all[0]?.closed).toBe(true));
    expect(FakeSocket.all).toHaveLength(1);
  });

  test("a message that is sent before the oracle is found goes out when it is", async () => {
    const { Page, oracle } = page();
    oracle.streaming("run-1");
    let isAway = true;
    const service = [{ type: "oracleService", serviceEndpoint: "https://o.example" }];
    oracle.on("GET", /^\/ixo\/entity\//, () => {
      if (isAway) throw new TypeError("Failed to fetch");
      return json({ entity: { service } });
    });
    const wrapper = ({ children }: { children: React.ReactNode }) => (
      <Page queryGateway="http://gate.test/ixo">{children}</Page>
    );
    const options = chatOptions();
    delete options.overrides;
    const { result } = renderHook(() => useChat(options), { wrapper });
    await waitFor(() => expect(result.current.error?.message).toMatch("cannot be reached"));
    const sent = result.current.sendMessage("hello");
    isAway = false;
    act(() => void window.dispatchEvent(new Event("online")));
    await waitFor(() => expect(oracle.requests("POST", /^\/messages\//)).toHaveLength(1));
    oracle.stream().frame(1, "done", { status: "finished" }).end();
    await act(() => sent);
    expect(result.current.error).toBe(undefined);
  });

  test("a message that waits for its oracle is refused when its conversation is left, or no oracle is there", async () => {
    const { Page, oracle } = page();
    oracle.streaming("run-1");
    let answer = (): Response => {
      throw new TypeError("Failed to fetch");
    };
    oracle.on("GET", /^\/ixo\/entity\//, () => answer());
    const wrapper = ({ children }: { children: React.ReactNode }) => (
      <Page queryGateway="http://gate.test/ixo">{children}</Page>
    );
    const { result, rerender, unmount } = renderHook(
      ({ sessionId }) => {
        const options = chatOptions({ sessionId });
        delete options.overrides;
        return useChat(options);
      },
      { wrapper, initialProps: { sessionId: "$a" } },
    );
    await waitFor(() => expect(result.current.error?.message).toMatch("cannot be reached"));
    const first = expect(result.current.sendMessage("one")).rejects.toThrow("closed");
    rerender({ sessionId: "$b" });
    await first;
    const second = expect(result.current.sendMessage("two")).rejects.toThrow("none");
    answer = () => json({ message: "none" }, 404);
    act(() => void window.dispatchEvent(new Event("online")));
    await second;
    unmount();
    expect(oracle.requests("POST", /^\/messages\//)).toEqual([]);
  });

  test("a message goes to its conversation also after the page has left it", async () => {
    vi.useFakeTimers();
    const { Page, oracle } = page();
    oracle.streaming("run-1");
    const { result, rerender } = renderHook(
      ({ sessionId }) => useChat(chatOptions({ sessionId })),
      {
        wrapper: Page,
        initialProps: { sessionId: "$a" },
      },
    );
    await act(() => vi.advanceTimersByTimeAsync(0));
    const { sendMessage, keepDraft } = result.current;
    rerender({ sessionId: "$b" });
    await act(() => vi.advanceTimersByTimeAsync(5000));
    expect(FakeSocket.all.map((s) => s.closed)).toEqual([true, false]);
    const sent = sendMessage("late");
    await act(() => vi.advanceTimersByTimeAsync(0));
    const [post] = oracle.requests("POST", /^\/messages\//);
    expect(post).toMatchObject({
      path: "/messages/%24a",
      body: { message: "late", multitask: "enqueue" },
    });
    oracle.stream().frame(1, "done", { status: "finished" }).end();
    await act(() => vi.advanceTimersByTimeAsync(5000));
    await sent;
    expect(FakeSocket.all.map((s) => s.closed)).toEqual([true, false, true]);
    // What was not sent is kept for its own conversation.
    act(() => keepDraft({ text: "two" }));
    act(() => keepDraft({ text: "one" }));
    expect(result.current.draft).toBe(undefined);
    rerender({ sessionId: "$a" });
    expect(result.current.draft).toMatchObject({ text: "one\n\ntwo" });
    act(() => result.current.keepDraft(undefined));
    expect(result.current.draft).toBe(undefined);
    vi.useRealTimers();
  });

  test("a message to an oracle that nobody can find is refused at once", async () => {
    const { Page } = page();
    const options = chatOptions();
    delete options.overrides;
    const { result } = renderHook(() => useChat(options), { wrapper: Page });
    await expect(result.current.sendMessage("hello")).rejects.toThrow("No query gateway");
  });

  test("a line that comes back reads what it may have missed", async () => {
    const { Page, oracle } = page();
    render(<Page><Consumer name="a" /></Page>); // prettier-ignore
    await waitFor(() => expect(oracle.requests("GET", /run$/)).toHaveLength(1));
    const line = FakeSocket.all[0] as FakeSocket;
    const welcome = { message: "", sessionId: "$s", timestamp: "" };
    act(() => line.line("connect"));
    act(() => line.say("connected", welcome));
    await screen.findByText("a 0 true");
    expect(oracle.requests("GET", /messages/)).toHaveLength(1);
    act(() => line.line("disconnect", "transport close"));
    oracle.history = [{ id: "1", type: "human", content: "from elsewhere" }];
    act(() => line.line("connect"));
    act(() => line.say("connected", welcome));
    await screen.findByText("a 1 true");
  });

  test("options that are new with every render cause no loop and are never stale", async () => {
    const { Page, oracle } = page();
    oracle.on("POST", /messages/, () => json({ claims: ["c"] }, 402));
    let renders = 0;
    const paid: string[] = [];
    const ran: string[] = [];
    function Unstable() {
      const [label, setLabel] = useState("old");
      renders++;
      const chat = useChat(
        chatOptions({
          uiComponents: { ToolCall: () => null },
          browserTools: {
            t: {
              toolName: "t",
              description: label,
              schema: z.object({}),
              fn: () => void ran.push(label),
            },
          },
          onPaymentRequiredError: () => void paid.push(label),
        }),
      );
      return (
        <>
          <button onClick={() => setLabel("new")}>{label}</button>
          <button onClick={() => void chat.sendMessage("hi")}>send</button>
        </>
      );
    }
    render(<Page><Unstable /></Page>); // prettier-ignore
    await waitFor(() => expect(oracle.requests("GET", /run$/)).toHaveLength(1));
    await act(async () => undefined);
    const settled = renders;
    expect(settled).toBeLessThan(8);
    act(() => screen.getByText("old").click());
    expect(renders).toBe(settled + 1);
    const payload = { sessionId: "$s", requestId: "r", toolCallId: "1", toolName: "t", args: {} };
    FakeSocket.all[0]?.say("browser_tool_call", payload);
    await act(async () => screen.getByText("send").click());
    await waitFor(() => expect(paid).toEqual(["new"]));
    expect(ran).toEqual(["new"]);
    expect(oracle.requests("POST", /messages/)[0]?.body).toMatchObject({
      tools: [{ name: "t", description: "new" }],
    });
    expect(FakeSocket.all).toHaveLength(1);
  });

  test("a component that leaves takes its tools and callbacks along, others keep theirs", async () => {
    const { Page, oracle } = page();
    oracle.on("POST", /messages/, () => json({ claims: [] }, 402));
    const paid: string[] = [];
    const tool = (name: string) => ({
      [name]: { toolName: name, description: "d", schema: z.object({}), fn: () => name },
    });
    function One({ name }: { name: string }) {
      const chat = useChat(
        chatOptions({
          browserTools: tool(name),
          onPaymentRequiredError: () => void paid.push(name),
        }),
      );
      return <button onClick={() => void chat.sendMessage("hi")}>{name}</button>;
    }
    const view = render(<Page><One name="a" /><One name="b" /></Page>); // prettier-ignore
    await waitFor(() => expect(oracle.requests("GET", /run$/)).toHaveLength(1));
    await act(async () => screen.getByText("a").click());
    view.rerender(<Page><One name="a" /></Page>); // prettier-ignore
    await act(async () => screen.getByText("a").click());
    await waitFor(() => expect(paid).toEqual(["b", "a"]));
    const names = oracle
      .requests("POST", /messages/)
      .map((r) => (r.body as { tools: { name: string }[] }).tools.map((t) => t.name));
    expect(names).toEqual([["a", "b"], ["a"]]);
  });

  test("another session or user is never shown the old messages", async () => {
    const { Page, oracle } = page();
    oracle.history = [{ id: "1", type: "human", content: "secret" }];
    const shown: string[] = [];
    function Room({ sessionId }: { sessionId: string }) {
      const { messages } = useChat(chatOptions({ sessionId }));
      shown.push(`${sessionId} ${messages.map((m) => m.content as string).join()}`);
      return null;
    }
    const view = render(<Page><Room sessionId="$1" /></Page>); // prettier-ignore
    await waitFor(() => expect(shown.at(-1)).toBe("$1 secret"));
    oracle.history = [];
    view.rerender(<Page><Room sessionId="$2" /></Page>); // prettier-ignore
    await waitFor(() => expect(oracle.requests("GET", /%242\/run$/)).toHaveLength(1));
    expect(shown.filter((s) => s.startsWith("$2") && s.includes("secret"))).toEqual([]);
  });

  test("there are the fields of the contract and none that do not exist", () => {
    const { Page } = page();
    const { result } = renderHook(() => useChat(chatOptions()), { wrapper: Page });
    expect(Object.keys(result.current).sort()).toEqual([
      "abortStream",
      "canRetry",
      "chooseVersion",
      "clearError",
      "draft",
      "editMessage",
      "error",
      "hasEarlier",
      "isConfigReady",
      "isLoading",
      "isLoadingEarlier",
      "isRealTimeConnected",
      "isRetrying",
      "isSending",
      "keepDraft",
      "loadEarlier",
      "messages",
      "readCall",
      "refetchMessages",
      "regenerate",
      "retry",
      "run",
      "sendFeedback",
      "sendMessage",
      "sendMessageError",
      "setMessages",
      "status",
    ]);
  });
});

describe("the other hooks", () => {
  test("useOraclesConfig asks the gateway once for all who ask", async () => {
    const { Page, oracle } = page();
    const service = [{ type: "oracleService", serviceEndpoint: "https://o.example/x" }];
    oracle.on("GET", /^\/ixo\/entity\//, () => json({ entity: { service } }));
    const wrapper = ({ children }: { children: React.ReactNode }) => (
      <Page queryGateway="http://gate.test/ixo">{children}</Page>
    );
    const { result } = renderHook(() => [useOraclesConfig("did:o"), useOraclesConfig("did:o")], {
      wrapper,
    });
    await waitFor(() => expect(result.current[1]?.apiUrl).toBe("https://o.example"));
    expect(result.current[0]).toMatchObject({ isReady: true, model: null, price: null });
    expect(oracle.requests("GET", /entity/)).toHaveLength(1);
  });

  test("useOracleSessions lists, pages, creates and deletes", async () => {
    const { Page, oracle } = page();
    const session = (sessionId: string) => ({ sessionId, title: sessionId });
    oracle
      .on("GET", /offset=0$/, () => json({ sessions: [session("1")], total: 2 }))
      .on("GET", /offset=1$/, () => json({ sessions: [session("1"), session("2")], total: 2 }))
      .on("POST", /^\/sessions$/, () => json(session("3"), 201))
      .on("DELETE", /^\/sessions\/1$/, () => json({ message: "gone" }));
    const { result } = renderHook(
      () => useOracleSessions("did:o", { baseUrl: overrides.baseUrl, limit: 1 }),
      { wrapper: Page },
    );
    const ids = () => result.current.sessions.map((s) => s.sessionId);
    await waitFor(() => expect(ids()).toEqual(["1"]));
    await act(() => result.current.fetchNextPage());
    expect(ids()).toEqual(["1", "2"]);
    await act(() => result.current.refetch());
    expect(ids()).toEqual(["1", "2"]);
    await act(() => result.current.createSession());
    await act(() => result.current.deleteSession("1"));
    expect(ids()).toEqual(["3", "2"]);
    expect(result.current).toMatchObject({ total: 2, isLoading: false, hasNextPage: false });
    await act(() => expect(result.current.deleteSession("nope")).rejects.toThrow("Cannot DELETE"));
    expect(result.current.isDeleteSessionError).toBe(true);
  });

  test("a list that is read again stays as open as it was, and asks for what it must", async () => {
    const { Page, oracle } = page();
    let there = ["5", "4", "3", "2", "1"];
    oracle.on("GET", /^\/sessions\?/, ({ path }) => {
      const offset = Number(new URLSearchParams(path.split("?")[1]).get("offset"));
      const sessions = there.slice(offset, offset + 2).map((sessionId) => ({ sessionId }));
      return json({ sessions, total: there.length });
    });
    const { result } = renderHook(
      () => useOracleSessions("did:o", { baseUrl: overrides.baseUrl, limit: 2 }),
      { wrapper: Page },
    );
    const ids = () => result.current.sessions.map((s) => s.sessionId).join("");
    await waitFor(() => expect(ids()).toBe("54"));
    await act(() => result.current.fetchNextPage());
    expect(ids()).toBe("5432");
    // A session is new, and one moved up: the first page tells.
    const asked = () => oracle.requests("GET", /^\/sessions\?/).length;
    let before = asked();
    there = ["6", "3", "5", "4", "2", "1"];
    await act(() => result.current.refetch());
    expect([ids(), result.current.total, asked() - before]).toEqual(["63542", 6, 1]);
    // One went away elsewhere: all that is shown is read.
    before = asked();
    there = ["6", "3", "5", "2", "1"];
    await act(() => result.current.refetch());
    expect([ids(), result.current.total, asked() - before]).toEqual(["63521", 5, 3]);
  });

  test("what one component changes in a list, every other sees; it is read once", async () => {
    const { Page, oracle } = page();
    const session = (sessionId: string) => ({ sessionId, title: sessionId });
    oracle
      .on("GET", /^\/sessions\?/, () => json({ sessions: [session("1")], total: 1 }))
      .on("POST", /^\/sessions$/, () => json(session("2"), 201));
    function List({ name }: { name: string }) {
      const { sessions, createSession } = useOracleSessions("did:o", { baseUrl: "http://o.test" });
      const ids = sessions.map((s) => s.sessionId).join();
      return <button onClick={() => void createSession()}>{`${name} ${ids}`}</button>;
    }
    const both = (
      <StrictMode>
        <Page><List name="a" /><List name="b" /></Page>
      </StrictMode>
    ); // prettier-ignore
    const view = render(both);
    await screen.findByText("a 1");
    await act(async () => screen.getByText("b 1").click());
    await screen.findByText("a 2,1");
    expect(screen.getByText("b 2,1")).toBeTruthy();
    expect(oracle.requests("GET", /^\/sessions\?/)).toHaveLength(1);
    // Who comes back sees what was there, and then what is.
    oracle.on("GET", /^\/sessions\?/, () => json({ sessions: [session("3")], total: 1 }));
    view.rerender(<StrictMode><Page /></StrictMode>); // prettier-ignore
    view.rerender(both);
    expect(screen.getByText("a 2,1")).toBeTruthy();
    await screen.findByText("a 3");
    expect(oracle.requests("GET", /^\/sessions\?/)).toHaveLength(2);
  });

  test("useContractOracle hands the protocol's messages to the wallet", async () => {
    const { Page, transactSignX } = page();
    const params = {
      oracleDid: "did:o",
      userClaimCollectionId: "7",
      adminAddress: "adm",
      granteeAddress: "ixo1o",
      maxAmount: [{ denom: "uixo", amount: "9" }],
    };
    const { result } = renderHook(() => useContractOracle({ params }), { wrapper: Page });
    await act(() => result.current.contractOracle());
    await act(() => result.current.payClaim({ claimId: "c-1" }));
    const exec = (value: unknown) => [
      { typeUrl: "/cosmos.authz.v1beta1.MsgExec", value: { grantee: "ixo1a", msgs: [value] } },
    ];
    const by = { creatorAddress: "ixo1a", creatorDid: "did:ixo:ixo1a" };
    expect(transactSignX.mock.calls).toEqual([
      [
        exec(packClaimGrant({ ...by, ...params, collectionId: "7", agentQuota: 1 })),
        "Contract oracle did:o",
      ],
      [
        exec(
          packClaimApproval({
            claimId: "c-1",
            collectionId: "7",
            agentDid: "did:ixo:ixo1a",
            agentAddress: "ixo1a",
            adminAddress: "adm",
          }),
        ),
        "Pay claim c-1",
      ],
    ]);
  });

  test("useContractOracle asks the wallet for nothing that the chain would refuse", async () => {
    const { Page, transactSignX } = page();
    const params = { oracleDid: "did:o", userClaimCollectionId: "7", adminAddress: "adm" };
    const { result } = renderHook(() => useContractOracle({ params }), { wrapper: Page });
    const refused = (why: string) =>
      expect.objectContaining({ message: expect.stringContaining(why) });
    await act(() =>
      expect(result.current.contractOracle()).rejects.toEqual(refused("params.granteeAddress")),
    );
    expect(result.current.error).toEqual(refused("params.granteeAddress"));
    await act(() => expect(result.current.payClaim()).rejects.toEqual(refused("params.claimId")));
    expect(result.current.isPending).toBe(false);
    expect(transactSignX).not.toHaveBeenCalled();
  });

  test("useMemoryEngine reads, writes and forgets", async () => {
    const { Page, oracle } = page();
    let memories = [{ id: "m 1", text: "likes tea" }];
    oracle
      .on("GET", /^\/memory/, () => json({ memories }))
      .on("POST", /^\/memory$/, ({ body }) => {
        memories = [...memories, { id: "2", text: (body as { text: string }).text }];
        return json(memories.at(-1), 201);
      })
      .on("DELETE", /^\/memory\/m%201$/, () => json({ ok: true }));
    const { result } = renderHook(() => useMemoryEngine("did:o", overrides), { wrapper: Page });
    await waitFor(() => expect(result.current.memories).toHaveLength(1));
    await act(() => result.current.remember("likes cake"));
    expect(result.current.memories).toHaveLength(2);
    memories = memories.slice(1);
    await act(() => result.current.forget("m 1"));
    expect(result.current.memories.map((m) => m.text)).toEqual(["likes cake"]);
  });

  test("useMemoryEngine without a name is the memory of the conversation that is open", async () => {
    const { Page, oracle } = page();
    oracle.on("GET", /^\/memory/, () => json({ memories: [{ id: "1", text: "likes tea" }] }));
    function Memories() {
      const memory = useMemoryEngine();
      return <p>{memory.isLoading ? "waiting" : memory.memories.map((m) => m.text).join()}</p>;
    }
    const Talk = () => <>{useChat(chatOptions()).status}</>;
    const view = render(<Page><Memories /></Page>); // prettier-ignore
    await screen.findByText("waiting");
    view.rerender(<Page><Memories /><Talk /></Page>); // prettier-ignore
    await screen.findByText("likes tea");
  });

  test("useMemoryEngine writes nowhere while no conversation is open", async () => {
    const { Page, oracle } = page();
    const { result } = renderHook(() => useMemoryEngine(), { wrapper: Page });
    await expect(result.current.remember("tea")).rejects.toThrow("No conversation");
    expect(oracle.seen).toEqual([]);
  });

  test("a wallet that refuses is asked once, until the user does something", async () => {
    const { Page, oracle } = page();
    oracle.streaming("run-1");
    oracle.on("GET", /^\/sessions\?/, () => json({ sessions: [], total: 0 }));
    oracle.on("GET", /^\/memory/, () => json({ memories: [] }));
    let isWilling = false;
    const sign = async () => {
      if (!isWilling) throw new Error("declined");
      return { serialized: "t", expiresAt: Date.now() + 3_600_000 };
    };
    const delegate = vi.fn(sign);
    const invoke = vi.fn(sign);
    let send: () => Promise<void> = () => Promise.resolve();
    let refetch = send;
    function Greedy() {
      const chat = useChat(chatOptions());
      const sessions = useOracleSessions("did:o", { baseUrl: overrides.baseUrl });
      const memory = useMemoryEngine("did:o", overrides);
      send = () => chat.sendMessage("hi");
      refetch = sessions.refetch;
      return <p>{[chat.error, sessions.error, memory.error].map((e) => e?.message).join("; ")}</p>;
    }
    render(
      <StrictMode>
        <Page createDelegation={delegate} createInvocation={invoke}>
          <Greedy />
        </Page>
      </StrictMode>,
    );
    const why = "The invocation could not be made: declined";
    await screen.findByText([why, why, why].join("; "));
    const asked = () => [delegate.mock.calls.length, invoke.mock.calls.length];
    expect(asked()).toEqual([1, 1]);
    await act(() => expect(send()).rejects.toThrow("declined"));
    expect(asked()).toEqual([2, 2]);
    isWilling = true;
    await act(() => refetch());
    expect(asked()).toEqual([3, 3]);
    const sending = send();
    await waitFor(() => expect(oracle.streams).toHaveLength(1));
    oracle.stream().frame(1, "done", { status: "finished" }).end();
    await act(() => sending);
    expect(asked()).toEqual([3, 3]);
  });

  test("the wallet's Matrix session goes along with what the user does, and with nothing else", async () => {
    const { Page, oracle } = page();
    oracle.streaming("run-1");
    const { result } = renderHook(() => useChat(chatOptions()), { wrapper: Page });
    await waitFor(() => expect(oracle.requests("GET", /run$/)).toHaveLength(1));
    const sending = result.current.sendMessage("hi");
    await waitFor(() => expect(oracle.streams).toHaveLength(1));
    oracle.stream().frame(1, "done", { status: "finished" }).end();
    await act(() => sending);
    const told = oracle.seen.map(({ method, headers }) => [
      method,
      headers["x-matrix-access-token"],
      headers["x-matrix-homeserver"],
    ]);
    expect(told.filter(([method]) => method === "POST")).toEqual([
      ["POST", "m", "https://hs.test"],
    ]);
    expect(told.filter(([method, token]) => method === "GET" && token)).toEqual([]);
  });

  test("useGetOpenIdToken asks the user's own server; without one it asks nobody", async () => {
    const { Page, oracle } = page();
    oracle.on("POST", /openid\/request_token$/, () => json({ access_token: "tok" }));
    const { result } = renderHook(() => useGetOpenIdToken(), { wrapper: Page });
    await waitFor(() => expect(result.current.openIdToken?.access_token).toBe("tok"));
    expect(oracle.seen[0]?.path).toBe(
      "/_matrix/client/v3/user/%40did-ixo-ixo1a%3Ahs.test/openid/request_token",
    );
    const matrix = { accessToken: "", homeServer: "" };
    const wrapper = ({ children }: { children: React.ReactNode }) => (
      <Page initialWallet={{ address: "a", did: "d", matrix }}>{children}</Page>
    );
    const none = renderHook(() => useGetOpenIdToken(), { wrapper });
    expect(none.result.current).toMatchObject({ openIdToken: undefined, isLoading: false });
  });
});
