import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ai, chatWith, flush, human, texts } from "../testkit/chat";
import { FakeOracle, json, Stream, until } from "../testkit/oracle";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

const said = (oracle: FakeOracle) =>
  oracle.requests("POST", /^\/messages\/%24s$/).map((r) => (r.body as { message: string }).message);

/** An oracle that answers messages when the test says so. */
function slow() {
  const oracle = new FakeOracle();
  const answers: ((answer: (signal?: AbortSignal) => Response) => void)[] = [];
  oracle.on("POST", /^\/messages\/%24s$/, (_, signal) => {
    return new Promise((resolve, reject) => {
      answers.push((answer) => resolve(answer(signal)));
      signal?.addEventListener("abort", () => reject(signal.reason as Error));
    });
  });
  return { oracle, answers };
}

describe("a message that is on its way", () => {
  test("is not called back by the next one", async () => {
    const { oracle, answers } = slow();
    const { chat, get } = chatWith(oracle);
    await chat.open();
    const first = chat.send("one");
    await until(() => answers.length === 1);
    const second = chat.send("two");
    await flush();
    expect(texts(get().messages)).toEqual(["one", "two"]);
    expect(said(oracle)).toEqual(["one"]);
    answers[0]?.((signal) => new Stream(signal).response({ "X-Request-Id": "r-1" }));
    await first;
    await until(() => answers.length === 2);
    const stream = new Stream();
    answers[1]?.(() => stream.response({ "X-Request-Id": "r-2" }));
    stream.frame(1, "message", { content: "Both" }).frame(2, "done").end();
    await second;
    expect(said(oracle)).toEqual(["one", "two"]);
    const ids = oracle.requests("POST", /^\/messages\//).map((r) => r.headers["X-Request-Id"]);
    expect(ids.every((id) => /^once-[0-9a-f]{32}$/.test(id ?? ""))).toBe(true);
    expect(new Set(ids).size).toBe(2);
    expect(texts(get().messages)).toEqual(["one", "two", "Both"]);
    expect(get().status).toBe("ready");
  });

  test("and is refused is so for who sent it; the next one goes on", async () => {
    const { oracle, answers } = slow();
    const { chat, get, states } = chatWith(oracle);
    await chat.open();
    const first = expect(chat.send("one")).rejects.toThrow("busy");
    await until(() => answers.length === 1);
    const second = chat.send("two");
    answers[0]?.(() => json({ message: "busy" }, 503));
    await first;
    await until(() => answers.length === 2);
    const stream = new Stream();
    answers[1]?.(() => stream.response({ "X-Request-Id": "r-2" }));
    stream.frame(1, "message", { content: "Yes" }).frame(2, "done").end();
    await second;
    expect(texts(get().messages)).toEqual(["two", "Yes"]);
    expect(states).toEqual(["ready", "submitted", "streaming", "ready"]);
  });

  test("can be stopped, which is no error", async () => {
    const { oracle, answers } = slow();
    const { chat, get } = chatWith(oracle);
    await chat.open();
    const sent = chat.send("one");
    await until(() => answers.length === 1);
    const stopped = chat.abort();
    await until(() => oracle.requests("POST", /abort/).length === 1);
    oracle.history = [human("h-1", "one")];
    await vi.advanceTimersByTimeAsync(2000);
    await Promise.all([sent, stopped]);
    expect(get()).toMatchObject({ status: "ready", sendMessageError: undefined });
    expect(texts(get().messages)).toEqual(["one"]);
  });
});

describe("a message whose answer was lost", () => {
  const offline = () => Promise.reject(new TypeError("offline"));

  test("goes on as if it had not been", async () => {
    const oracle = new FakeOracle().on("POST", /^\/messages\/%24s$/, offline);
    oracle.on("GET", /\/run\?requestId=/, ({ path }) =>
      json({ run: { runId: "run-1", requestId: path.split("=")[1], status: "running" } }),
    );
    oracle.on("GET", /^\/runs\/run-1/, (_, signal) =>
      new Stream(signal)
        .frame(1, "message", { content: "Yes" })
        .frame(2, "done", { status: "finished" })
        .response(),
    );
    const { chat, get, states } = chatWith(oracle);
    await chat.open();
    await chat.send("hi");
    expect(texts(get().messages)).toEqual(["hi", "Yes"]);
    expect(states).toEqual(["ready", "submitted", "streaming", "ready"]);
    expect(said(oracle)).toEqual(["hi"]);
  });

  test("and that turns up in the history later is no failure any more", async () => {
    const oracle = new FakeOracle().on("POST", /^\/messages\/%24s$/, offline);
    const { chat, get } = chatWith(oracle);
    await chat.open();
    await expect(chat.send("hi")).rejects.toThrow("offline");
    expect(get()).toMatchObject({ status: "error", sendMessageError: { message: "offline" } });
    const shown = get().messages[0]?.id;
    oracle.history = [human("h-1", "hi"), ai("a-1", "Yes")];
    await chat.changed();
    expect(texts(get().messages)).toEqual(["hi", "Yes"]);
    expect(get().messages[0]?.id).toBe(shown);
    expect(get()).toMatchObject({ status: "ready", sendMessageError: undefined });
  });

  test("and that is not there stays a failure", async () => {
    const oracle = new FakeOracle().on("POST", /^\/messages\/%24s$/, offline);
    const { chat, get } = chatWith(oracle);
    await chat.open();
    await expect(chat.send("hi")).rejects.toThrow("offline");
    await chat.changed();
    expect(get()).toMatchObject({ messages: [], status: "error" });
  });
});

describe("a message whose answer does not begin", () => {
  const minute = 60_000;
  const looked = (oracle: FakeOracle) => oracle.requests("GET", /\/run\?requestId=/);

  test("is found at the oracle that has it, and followed by another line", async () => {
    const { oracle, answers } = slow();
    oracle.on("GET", /\/run\?requestId=/, ({ path }) =>
      json({ run: { runId: "run-1", requestId: path.split("=")[1], status: "running" } }),
    );
    oracle.on("GET", /^\/runs\/run-1/, (_, signal) =>
      new Stream(signal)
        .frame(1, "message", { content: "Yes" })
        .frame(2, "done", { status: "finished" })
        .response(),
    );
    const { chat, get } = chatWith(oracle);
    await chat.open();
    const sent = chat.send("hi");
    await until(() => answers.length === 1);
    await vi.advanceTimersByTimeAsync(minute - 1);
    expect(get().status).toBe("submitted");
    expect(looked(oracle)).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    await sent;
    expect(texts(get().messages)).toEqual(["hi", "Yes"]);
    expect(get()).toMatchObject({ status: "ready", sendMessageError: undefined });
    expect(said(oracle)).toEqual(["hi"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is given back when the oracle does not have it", async () => {
    const { oracle, answers } = slow();
    oracle.on("GET", /\/run\?requestId=/, () => json({ run: null }));
    const { chat, get } = chatWith(oracle);
    await chat.open();
    const sent = expect(chat.send("hi")).rejects.toMatchObject({ status: 408 });
    await until(() => answers.length === 1);
    await vi.advanceTimersByTimeAsync(minute);
    await sent;
    expect(get().status).toBe("error");
    oracle.streaming("run-1");
    const again = chat.retry();
    await until(() => get().status === "streaming");
    oracle.stream().frame(1, "message", { content: "Yes" }).frame(2, "done").end();
    await again;
    expect(texts(get().messages)).toEqual(["hi", "Yes"]);
  });

  test("is given back when nobody answers at all", async () => {
    const { oracle, answers } = slow();
    const never = (signal?: AbortSignal) =>
      new Promise<Response>((_, reject) =>
        signal?.addEventListener("abort", () => reject(signal.reason as Error)),
      );
    oracle.on("GET", /\/run\?requestId=/, (_, signal) => never(signal));
    const { chat } = chatWith(oracle);
    await chat.open();
    const sent = expect(chat.send("hi")).rejects.toMatchObject({ status: 408 });
    await until(() => answers.length === 1);
    await vi.advanceTimersByTimeAsync(2 * minute);
    await sent;
    expect(looked(oracle)).toHaveLength(3);
  });

  test("is waited for where the oracle keeps no runs", async () => {
    const { oracle, answers } = slow();
    const { chat, get } = chatWith(oracle);
    await chat.open();
    const sent = chat.send("hi");
    await until(() => answers.length === 1);
    await vi.advanceTimersByTimeAsync(10 * minute);
    expect(get().status).toBe("submitted");
    const stream = new Stream();
    answers[0]?.(() => stream.response());
    stream.frame(1, "message", { content: "Yes" }).frame(2, "done").end();
    await sent;
    expect(texts(get().messages)).toEqual(["hi", "Yes"]);
  });

  test("and begins while the oracle is asked for it is followed as it is", async () => {
    const { oracle, answers } = slow();
    let tell!: (response: Response) => void;
    oracle.on("GET", /\/run\?requestId=/, () => new Promise((resolve) => (tell = resolve)));
    const { chat, get } = chatWith(oracle);
    await chat.open();
    const sent = chat.send("hi");
    await until(() => answers.length === 1);
    await vi.advanceTimersByTimeAsync(minute);
    await until(() => looked(oracle).length === 1);
    let stream!: Stream;
    answers[0]?.((signal) => (stream = new Stream(signal)).response());
    await until(() => get().status === "streaming");
    tell(json({ run: null }));
    await flush();
    stream.frame(1, "message", { content: "Yes" }).frame(2, "done").end();
    await sent;
    expect(texts(get().messages)).toEqual(["hi", "Yes"]);
  });
});
