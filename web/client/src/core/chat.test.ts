import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ai, chatWith, flush, human, talking, texts } from "../testkit/chat";
import { FakeOracle, json, Stream, until } from "../testkit/oracle";
import type { StoredMessage } from "./types";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

describe("sending", () => {
  test("the message is there at once, the reply grows, history takes over", async () => {
    const oracle = new FakeOracle();
    const { get, states, sent, stream } = await talking(oracle);
    expect(texts(get().messages)).toEqual(["hi", ""]);
    expect(get().run).toEqual({ runId: "run-1", status: "running" });
    stream.frame(1, "reasoning", { reasoning: "Hm", isComplete: false });
    stream.frame(2, "message", { content: "Hel" });
    await flush();
    stream.frame(3, "reasoning", { reasoning: "", isComplete: true });
    stream.frame(4, "message", { content: "lo" });
    await flush();
    expect(get().messages[1]).toMatchObject({
      id: "r-1",
      content: "Hello",
      reasoning: "Hm",
      isReasoning: false,
      isComplete: false,
    });
    const shown = get().messages.map((m) => m.id);
    oracle.history = [human("h-1", "hi"), ai("a-1", "Hello")];
    stream.frame(5, "done", { status: "finished" }).end();
    await sent;
    expect(states).toEqual(["ready", "submitted", "streaming", "ready"]);
    expect(texts(get().messages)).toEqual(["hi", "Hello"]);
    expect(get().messages.map((m) => m.id)).toEqual(shown);
    expect(get().run).toBeUndefined();
    expect(oracle.requests("POST", /./)).toHaveLength(1);
  });

  test("at no time is a message missing or there twice", async () => {
    const oracle = new FakeOracle();
    oracle.history = [human("h-0", "before"), ai("a-0", "so")];
    const { chat, get, sent, stream } = await talking(oracle);
    const seen = new Set<string>();
    chat.state.subscribe(() => seen.add(JSON.stringify(texts(get().messages))));
    const old = get().messages[0];
    stream.frame(1, "message", { content: "Yes" });
    await flush();
    // The history is read in the middle of the turn, when it holds the half of it.
    oracle.history = [...oracle.history, human("h-1", "hi")];
    await chat.refetch();
    oracle.history = [...oracle.history, ai("a-1", "Yes")];
    stream.frame(2, "done").end();
    await sent;
    await chat.refetch();
    expect([...seen]).toEqual([JSON.stringify(["before", "so", "hi", "Yes"])]);
    expect(get().messages[0]).toBe(old);
  });

  test("a history that was asked for before the end does not drop the turn", async () => {
    const oracle = new FakeOracle();
    const { chat, get, sent, stream } = await talking(oracle);
    stream.frame(1, "message", { content: "Yes" });
    await flush();
    let answer!: (response: Response) => void;
    const late = new Promise<Response>((resolve) => (answer = resolve));
    let slow = true;
    oracle.on("GET", /^\/sessions\/[^/]+\/messages/, () =>
      slow ? late : json({ messages: [human("h", "hi"), ai("a", "Yes")], hasOlder: false }),
    );
    void chat.refetch();
    await until(() => oracle.requests("GET", /messages/).length === 2);
    stream.frame(2, "done").end();
    const seen: unknown[] = [];
    chat.state.subscribe(() => seen.push(texts(get().messages)));
    slow = false;
    answer(json({ messages: [], hasOlder: false }));
    await sent;
    expect(seen.every((t) => JSON.stringify(t) === '["hi","Yes"]')).toBe(true);
    expect(texts(get().messages)).toEqual(["hi", "Yes"]);
  });

  test("a turn that is stored before its stream ends is not there twice", async () => {
    const oracle = new FakeOracle();
    const { chat, get, sent, stream } = await talking(oracle);
    stream.frame(1, "message", { content: "Hello" });
    await flush();
    oracle.history = [human("h-1", "hi"), ai("a-1", "Hello")];
    await chat.changed();
    expect(texts(get().messages)).toEqual(["hi", "Hello"]);
    stream.frame(2, "done", { status: "finished" }).end();
    await sent;
    expect(texts(get().messages)).toEqual(["hi", "Hello"]);
  });

  test("a change that is told while the history is read is read after it", async () => {
    const oracle = new FakeOracle();
    const { chat, get } = chatWith(oracle);
    let answer!: (response: Response) => void;
    const late = new Promise<Response>((resolve) => (answer = resolve));
    oracle.on("GET", /^\/sessions\/[^/]+\/messages/, () => late);
    const first = chat.refetch();
    await until(() => oracle.requests("GET", /messages/).length === 1);
    const told = [chat.changed(), chat.changed()];
    oracle.on("GET", /^\/sessions\/[^/]+\/messages/, () =>
      json({ messages: [human("h", "hi")], hasOlder: false }),
    );
    answer(json({ messages: [], hasOlder: false }));
    await Promise.all([first, ...told]);
    expect(texts(get().messages)).toEqual(["hi"]);
    expect(oracle.requests("GET", /messages/)).toHaveLength(2);
  });

  test("the body carries what the page offers at that moment", async () => {
    const oracle = new FakeOracle();
    const declared = { name: "t", description: "d", schema: { type: "object" } };
    const { chat, sent, stream } = await talking(oracle, {
      model: () => "m-1",
      tools: () => [declared],
      actions: () => [{ ...declared, hasRender: true }],
    });
    stream.frame(1, "done").end();
    await sent;
    const file = { filename: "a", mimetype: "text/plain", mxcUri: "mxc://a/b" };
    void chat.send("more", { spaceId: "s" }, [file]);
    await until(() => oracle.streams.length === 2);
    const [first, second] = oracle.requests("POST", /messages/);
    expect(first?.body).toEqual({
      message: "hi",
      stream: true,
      tabId: "tab-1",
      timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      model: "m-1",
      tools: [declared],
      agActions: [{ ...declared, hasRender: true }],
    });
    expect(second?.body).toMatchObject({ metadata: { spaceId: "s" }, attachments: [file] });
    chat.close();
  });

  test("what the oracle did not take is shown until it is sent again", async () => {
    const oracle = new FakeOracle().on("POST", /./, () => json({ message: "busy" }, 503));
    const { chat, get } = chatWith(oracle);
    await chat.open();
    await expect(chat.send("hi")).rejects.toThrow("busy");
    expect(texts(get().messages)).toEqual(["hi"]);
    await expect(chat.send("hi")).rejects.toThrow("busy");
    expect(texts(get().messages)).toEqual(["hi"]);
    oracle.streaming("run-1");
    const sent = chat.send("hello");
    await until(() => get().status === "streaming");
    expect(texts(get().messages)).toEqual(["hello", ""]);
    oracle.stream().frame(1, "message", { content: "Yes" }).frame(2, "done").end();
    await sent;
    expect(texts(get().messages)).toEqual(["hello", "Yes"]);
  });

  test("payment required: the page is told, nothing is thrown", async () => {
    const oracle = new FakeOracle().on("POST", /./, () =>
      json({ statusCode: 402, message: "pay", claims: ["c-1"], outstandingClaims: ["c-1"] }, 402),
    );
    const { chat, get, paid, states } = chatWith(oracle);
    await chat.open();
    await chat.send("hi");
    expect(paid).toEqual([["c-1"]]);
    expect(states).toEqual(["ready", "submitted", "ready"]);
    expect(get().sendMessageError).toBeUndefined();
    expect(texts(get().messages)).toEqual(["hi"]);
  });

  test("payment required for the history: the page is told and the error shown", async () => {
    const oracle = new FakeOracle().on("GET", /messages/, () =>
      json({ statusCode: 402, message: "pay", outstandingClaims: ["c-2"] }, 402),
    );
    const { chat, get, paid } = chatWith(oracle);
    await chat.open();
    expect(paid).toEqual([["c-2"]]);
    expect(get()).toMatchObject({ isLoading: false, error: { message: "pay" } });
  });

  test("a refusal is an error that the next message clears", async () => {
    const oracle = new FakeOracle().streaming();
    let broken = true;
    oracle.on("POST", /^\/messages\/%24s$/, (_, signal) => {
      if (broken) return json({ statusCode: 500, message: "Internal server error" }, 500);
      return new Stream(signal).frame(1, "done").response({ "X-Request-Id": "r" });
    });
    const { chat, get } = chatWith(oracle);
    await chat.open();
    await expect(chat.send("hi")).rejects.toThrow("Internal server error");
    expect(get()).toMatchObject({
      status: "error",
      sendMessageError: { message: "Internal server error" },
    });
    broken = false;
    await chat.send("again");
    expect(get()).toMatchObject({ status: "ready", sendMessageError: undefined });
  });

  test("a second message supersedes the first; what was said of it stays", async () => {
    const oracle = new FakeOracle();
    const { chat, get, sent, stream } = await talking(oracle);
    stream.frame(1, "message", { content: "On the one" });
    await flush();
    const second = chat.send("stop");
    await sent;
    await until(() => get().status === "streaming");
    expect(texts(get().messages)).toEqual(["hi", "On the one", "stop", ""]);
    oracle.stream().frame(1, "message", { content: "Stopped" });
    await flush();
    expect(texts(get().messages)).toEqual(["hi", "On the one", "stop", "Stopped"]);
    oracle.stream().frame(2, "done").end();
    await second;
    expect(get().status).toBe("ready");
  });

  test("abort asks the server and waits for what is left of the reply", async () => {
    const oracle = new FakeOracle();
    const { chat, get, sent, stream } = await talking(oracle);
    stream.frame(1, "message", { content: "Well, it" });
    const aborted = chat.abort();
    await until(() => oracle.requests("POST", /abort/).length === 1);
    oracle.history = [human("h", "hi"), ai("a", "Well, i")];
    stream.frame(2, "done", { status: "aborted", aborted: true, partialText: "Well, i" }).end();
    await Promise.all([aborted, sent]);
    expect(oracle.requests("POST", /abort/)[0]?.body).toEqual({ sessionId: "$s" });
    expect(texts(get().messages)).toEqual(["hi", "Well, i"]);
    expect(get().status).toBe("ready");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("abort ends it here even when the server does not answer well", async () => {
    const oracle = new FakeOracle();
    const { chat, get, sent } = await talking(oracle);
    oracle.on("POST", /abort/, () => json({ message: "down" }, 500));
    oracle.on("GET", /messages/, () => json({ message: "down" }, 503));
    await Promise.all([chat.abort(), sent]);
    expect(get()).toMatchObject({ status: "ready", error: { message: "down" } });
  });

  test("an error stays where it was when the conversation goes on", async () => {
    const oracle = new FakeOracle();
    const { chat, get, sent, stream } = await talking(oracle);
    oracle.history = [human("h", "hi")];
    stream.frame(1, "error", { error: "The model is busy." });
    stream.frame(2, "done", { failed: true }).end();
    await sent;
    oracle.history = [...oracle.history, human("h-2", "more"), ai("a-2", "Yes")];
    await chat.changed();
    expect(get().messages.map((m) => m.parts?.[0])).toEqual([
      { type: "text", text: "hi" },
      { type: "error", text: "The model is busy." },
      { type: "text", text: "more" },
      { type: "text", text: "Yes" },
    ]);
  });

  test("after an error frame a turn may go on", async () => {
    const oracle = new FakeOracle();
    const { get, sent, stream } = await talking(oracle);
    stream.frame(1, "error", { error: "The memory is away.", kind: "unavailable" });
    stream.frame(2, "message", { content: "Yes" }).frame(3, "done", { status: "finished" }).end();
    await sent;
    expect(get()).toMatchObject({ status: "ready", error: undefined });
  });

  test("what failed is asked again, and not sent twice", async () => {
    const oracle = new FakeOracle();
    const { chat, get, sent, stream } = await talking(oracle);
    oracle.history = [human("h", "hi")];
    stream.frame(1, "error", { error: "The model is busy.", retryable: true });
    stream.frame(2, "done", { failed: true }).end();
    await sent;
    const again = chat.retry();
    expect(get()).toMatchObject({ status: "submitted", error: undefined });
    chat.close();
    await again.catch(() => undefined);
    expect(oracle.requests("POST", /./).map((post) => post.path)).toEqual([
      "/messages/%24s",
      "/sessions/%24s/messages/h/versions",
    ]);
  });

  test("an error frame leaves an entry that the history does not take away", async () => {
    const oracle = new FakeOracle();
    const { get, sent, stream } = await talking(oracle);
    oracle.history = [human("h", "hi")];
    stream.frame(1, "error", { error: "The model is busy.", kind: "rate_limit" });
    stream.frame(2, "done", { failed: true }).end();
    await sent;
    expect(get().status).toBe("error");
    expect(get().error).toMatchObject({ message: "The model is busy.", kind: "rate_limit" });
    expect(get().messages.map((m) => m.id)[1]).toBe("r-1-error");
    expect(get().messages[1]?.content).toMatchObject({
      name: "Error",
      props: { error: "The model is busy." },
    });
    expect(get().messages[1]?.parts).toEqual([
      { type: "error", text: "The model is busy.", kind: "rate_limit" },
    ]);
  });

  test("calls are parts of the content, with their newest state", async () => {
    const oracle = new FakeOracle();
    const { get, sent, stream } = await talking(oracle);
    const call = { toolName: "search", eventId: "c-1", args: { q: "x", toolName: "search" } };
    stream.frame(1, "message", { content: "Look: " });
    stream.frame(2, "tool_call", { ...call, status: "isRunning" });
    stream.frame(3, "action_call", { toolCallId: "c-2", toolName: "chart", status: "isRunning" });
    await flush();
    stream.frame(4, "tool_call", { ...call, status: "done", output: "[]" });
    await flush();
    expect(get().messages[1]?.content).toEqual([
      "Look: ",
      {
        name: "search",
        props: {
          id: "c-1",
          toolName: "search",
          args: { q: "x" },
          status: "done",
          output: "[]",
          isToolCall: true,
        },
      },
      {
        name: "chart",
        props: {
          id: "c-2",
          toolName: "chart",
          actionName: "chart",
          args: {},
          status: "isRunning",
          isAgAction: true,
        },
      },
    ]);
    stream.frame(5, "done").end();
    await sent;
  });

  test("a run that changed hands takes back what was not stored", async () => {
    const oracle = new FakeOracle();
    const { get, stream, chat } = await talking(oracle);
    stream.frame(1, "message", { content: "Hello wor" });
    stream.frame(2, "run", { runId: "run-1", resumed: true, partialLength: 6 });
    stream.frame(3, "message", { content: "there" });
    await flush();
    expect(texts(get().messages)).toEqual(["hi", "Hello there"]);
    chat.close();
  });
});

describe("opening", () => {
  test("joins the turn that is under way, once", async () => {
    const oracle = new FakeOracle();
    oracle.run = { runId: "run-7", status: "running" };
    oracle.history = [human("h", "hi")];
    let stream!: Stream;
    oracle.on("GET", /^\/runs\//, (_, signal) => {
      stream = new Stream(signal).frame(1, "message", { content: "Half" });
      return stream.response();
    });
    const { chat, get, states } = chatWith(oracle);
    const opened = chat.open();
    await until(() => stream !== undefined);
    await flush();
    expect(texts(get().messages)).toEqual(["hi", "Half"]);
    expect(get()).toMatchObject({ status: "streaming", run: { runId: "run-7" } });
    oracle.history = [human("h", "hi"), ai("a", "Half and half")];
    stream.frame(2, "message", { content: " and half" }).frame(3, "done").end();
    await opened;
    expect(states).toEqual(["ready", "streaming", "ready"]);
    expect(texts(get().messages)).toEqual(["hi", "Half and half"]);
    expect(oracle.requests("GET", /^\/runs\//)).toHaveLength(1);
  });

  test("an oracle without runs is no error", async () => {
    const oracle = new FakeOracle().on("GET", /run$/, () => json({ statusCode: 404 }, 404));
    const { chat, get } = chatWith(oracle);
    await chat.open();
    expect(get()).toMatchObject({ status: "ready", isLoading: false, error: undefined });
  });

  test("what comes after close is not told", async () => {
    const oracle = new FakeOracle();
    const { chat, get, stream, sent } = await talking(oracle);
    stream.frame(1, "message", { content: "late" });
    chat.close();
    const last = get();
    await sent;
    await flush();
    expect(get()).toBe(last);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("history", () => {
  const page = (messages: StoredMessage[], hasOlder: boolean) =>
    json({ messages, hasOlder, prevCursor: hasOlder ? messages[0]?.id : null });

  test("earlier pages come before, survive a refetch and keep their identity", async () => {
    const oracle = new FakeOracle()
      .on("GET", /messages\?limit=20$/, () => page([human("3", "c"), ai("4", "d")], true))
      .on("GET", /before=3$/, () => page([human("1", "a"), ai("2", "b"), human("3", "c")], false));
    const { chat, get } = chatWith(oracle);
    await chat.open();
    expect(get().hasEarlier).toBe(true);
    await Promise.all([chat.loadEarlier(), chat.loadEarlier()]);
    expect(texts(get().messages)).toEqual(["a", "b", "c", "d"]);
    expect(get()).toMatchObject({ hasEarlier: false, isLoadingEarlier: false });
    expect(oracle.requests("GET", /before/)).toHaveLength(1);
    const before = get();
    await chat.refetch();
    expect(get()).toBe(before);
  });

  test("a history that moved on by more than a page begins anew", async () => {
    let messages = [human("1", "a"), ai("2", "b")];
    const oracle = new FakeOracle().on("GET", /messages/, () =>
      page(messages, messages[0]?.id !== "1"),
    );
    const { chat, get } = chatWith(oracle);
    await chat.open();
    expect(get().hasEarlier).toBe(false);
    messages = [human("8", "y"), ai("9", "z")];
    await chat.refetch();
    expect(texts(get().messages)).toEqual(["y", "z"]);
    expect(get().hasEarlier).toBe(true);
  });

  test("a first failure does not lose the way to earlier messages", async () => {
    let broken = true;
    const oracle = new FakeOracle().on("GET", /messages/, () =>
      broken ? json({ message: "down" }, 503) : page([human("3", "c")], true),
    );
    const { chat, get } = chatWith(oracle);
    await chat.open();
    expect(get()).toMatchObject({ isLoading: false, error: { message: "down" } });
    broken = false;
    await chat.refetch();
    expect(get()).toMatchObject({ hasEarlier: true, error: undefined });
  });
});

describe("components", () => {
  const rendered = (eventId: string, requestId: string) => ({
    eventName: "render_component" as const,
    payload: { sessionId: "$s", requestId, componentName: "Map", args: { at: 1 }, eventId },
  });

  test("stay where they came up, once, whichever way they came", async () => {
    const oracle = new FakeOracle();
    const { chat, get, sent, stream } = await talking(oracle);
    stream.frame(1, "message", { content: "Here" });
    stream.frame(2, "render_component", rendered("e-1", "r-1").payload);
    await flush();
    chat.takeEvent(rendered("e-1", "r-1"));
    oracle.history = [human("h", "hi"), ai("a", "Here")];
    stream.frame(3, "done").end();
    await sent;
    void chat.send("and now?");
    await until(() => oracle.streams.length === 2 && get().status === "streaming");
    expect(get().messages.map((m) => m.content)).toEqual([
      "hi",
      "Here",
      expect.objectContaining({ name: "Map" }),
      "and now?",
      "",
    ]);
    chat.close();
  });

  test("are shown by the history once it keeps them", async () => {
    const oracle = new FakeOracle();
    const { chat, get, sent, stream } = await talking(oracle);
    stream.frame(1, "render_component", rendered("call-1", "r-1").payload);
    await flush();
    const kept = { name: "Map", args: { at: 1 } };
    const call = { id: "call-1", name: "show", args: {}, status: "done" as const, component: kept };
    oracle.history = [human("h", "hi"), { ...ai("a", "Here"), toolCalls: [call] }];
    stream.frame(2, "done").end();
    await sent;
    await chat.refetch();
    expect(get().messages[1]?.content).toEqual([
      "Here",
      expect.objectContaining({ name: "show" }),
      {
        name: "Map",
        props: {
          id: "call-1-component",
          args: { at: 1 },
          status: "done",
          event: "render_component",
        },
      },
    ]);
    chat.close();
  });
});
