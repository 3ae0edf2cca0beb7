import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FakeOracle, json, keeperOf, Stream, until } from "../testkit/oracle";
import { resumeTurn, sendTurn, type Frame } from "./turn";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

/** Sends a message and collects what the turn tells. */
function sending(oracle: FakeOracle, frame?: (frame: Frame) => void, keeper = keeperOf({})) {
  const abort = new AbortController();
  const frames: string[] = [];
  const ids: unknown[] = [];
  const end = sendTurn(
    oracle.api(keeper),
    "$s:1",
    "/messages/%24s%3A1",
    "q-1",
    { message: "hi" },
    {
      accepted: (given) => void ids.push(given),
      frame: (given) => {
        frames.push(`${given.event} ${String(given.data["content"] ?? "")}`.trim());
        frame?.(given);
      },
    },
    abort.signal,
  );
  return { abort, frames, ids, end };
}

/** Answers the resume requests in turn; the last one again and again. */
function resuming(oracle: FakeOracle, ...answers: ((signal?: AbortSignal) => Response)[]) {
  let n = 0;
  oracle.on("GET", /^\/runs\//, (_, signal) => {
    const answer = answers[Math.min(n++, answers.length - 1)];
    if (!answer) throw new Error("nobody expected this");
    return answer(signal);
  });
}

const resumes = (oracle: FakeOracle) => oracle.requests("GET", /^\/runs\//).map((r) => r.path);

describe("sendTurn", () => {
  test("one request for a turn that is not cut", async () => {
    const oracle = new FakeOracle().streaming("run-1");
    const turn = sending(oracle);
    await until(() => oracle.streams.length === 1);
    oracle.stream().frame(1, "message", { content: "a" }).frame(2, "done").end();
    expect(await turn.end).toBe("done");
    expect(turn.ids).toEqual([{ requestId: "r-1", runId: "run-1" }]);
    expect(turn.frames).toEqual(["message a", "done"]);
    expect(oracle.seen).toMatchObject([
      {
        method: "POST",
        path: "/messages/%24s%3A1",
        headers: { "X-Request-Id": "q-1" },
        body: { message: "hi", stream: true },
      },
    ]);
  });

  test("a cut line is resumed after the last frame; nothing is told twice", async () => {
    const oracle = new FakeOracle().streaming("run-1");
    resuming(
      oracle,
      () => json({ message: "starting" }, 503),
      (signal) => {
        const again = new Stream(signal)
          .frame(2, "message", { content: "b" })
          .frame(3, "message", { content: "c" });
        queueMicrotask(() => again.end());
        return again.response();
      },
      (signal) => new Stream(signal).frame(4, "done").response(),
    );
    const turn = sending(oracle);
    await until(() => oracle.streams.length === 1);
    oracle.stream().frame(1, "message", { content: "a" }).frame(2, "message", { content: "b" });
    await until(() => turn.frames.length === 2);
    oracle.stream().cut();
    const end = turn.end;
    for (let i = 0; i < 3; i++) {
      await until(() => vi.getTimerCount() === 1);
      await vi.advanceTimersToNextTimerAsync();
    }
    expect(await end).toBe("done");
    expect(turn.frames).toEqual(["message a", "message b", "message c", "done"]);
    expect(resumes(oracle)).toEqual([
      "/runs/run-1?after=2",
      "/runs/run-1?after=2",
      "/runs/run-1?after=3",
    ]);
    expect(oracle.requests("POST", /./)).toHaveLength(1);
  });

  test("a line that is silent for a minute is dead; comments keep it alive", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
    const oracle = new FakeOracle().streaming("run-1");
    resuming(oracle, (signal) => new Stream(signal).frame(2, "done").response());
    const turn = sending(oracle);
    await vi.waitUntil(() => oracle.streams.length === 1);
    oracle.stream().frame(1, "message", { content: "a" });
    for (let comments = 0; comments < 6; comments++) {
      await vi.advanceTimersByTimeAsync(30_000);
      oracle.stream().raw(": here\n\n");
    }
    expect(resumes(oracle)).toEqual([]);
    await vi.advanceTimersByTimeAsync(62_000);
    expect(await turn.end).toBe("done");
    expect(resumes(oracle)).toEqual(["/runs/run-1?after=1"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a line of an oracle that keeps no runs may be silent", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
    const oracle = new FakeOracle().streaming();
    const turn = sending(oracle);
    await vi.waitUntil(() => oracle.streams.length === 1);
    await vi.advanceTimersByTimeAsync(600_000);
    oracle.stream().frame(1, "done");
    expect(await turn.end).toBe("done");
  });

  test("the run frame is enough to resume by", async () => {
    const oracle = new FakeOracle().streaming();
    resuming(oracle, (signal) => new Stream(signal).frame(2, "done").response());
    const turn = sending(oracle);
    await until(() => oracle.streams.length === 1);
    oracle.stream().frame(1, "run", { runId: "run-9" }).end();
    await until(() => vi.getTimerCount() === 1);
    await vi.advanceTimersToNextTimerAsync();
    expect(await turn.end).toBe("done");
    expect(resumes(oracle)).toEqual(["/runs/run-9?after=1"]);
  });

  test.each([404, 410, 403])("%d stops it", async (status) => {
    const oracle = new FakeOracle().streaming("run-1");
    resuming(oracle, () => json({ statusCode: status, message: "gone" }, status));
    const turn = sending(oracle);
    await until(() => oracle.streams.length === 1);
    oracle.stream().end();
    await until(() => vi.getTimerCount() === 1);
    await vi.advanceTimersToNextTimerAsync();
    expect(await turn.end).toBe("disconnected");
    expect(resumes(oracle)).toHaveLength(1);
  });

  test("a busy oracle is asked again when it says, and not for ever", async () => {
    const oracle = new FakeOracle().streaming("run-1");
    resuming(oracle, () => json({ message: "slow down" }, 429, { "Retry-After": "30" }));
    const turn = sending(oracle);
    await until(() => oracle.streams.length === 1);
    oracle.stream().end();
    await until(() => vi.getTimerCount() === 1);
    await vi.advanceTimersByTimeAsync(700);
    await until(() => vi.getTimerCount() === 1);
    expect(resumes(oracle)).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(29_000);
    expect(resumes(oracle)).toHaveLength(1);
    let ended: string | undefined;
    void turn.end.then((end) => (ended = end));
    for (let i = 0; i < 100 && !ended; i++) await vi.advanceTimersByTimeAsync(10_000);
    expect(ended).toBe("disconnected");
    expect(resumes(oracle)).toHaveLength(12);
  });

  test("a stream without numbers is not joined in the middle", async () => {
    const oracle = new FakeOracle().streaming("run-1");
    const turn = sending(oracle);
    await until(() => oracle.streams.length === 1);
    oracle.stream().frame(undefined, "message", { content: "a" }).end();
    expect(await turn.end).toBe("disconnected");
    expect(resumes(oracle)).toEqual([]);
  });

  test("a refused message is not sent again, nor is one whose line broke", async () => {
    const refused = new FakeOracle().on("POST", /./, () => json({ message: "no" }, 500));
    await expect(sending(refused).end).rejects.toThrow("no");
    expect(refused.seen).toHaveLength(1);
    const broken = new FakeOracle().on("POST", /./, () => Promise.reject(new TypeError("offline")));
    await expect(sending(broken).end).rejects.toThrow("offline");
    expect(broken.requests("POST", /./)).toHaveLength(1);
  });

  test("abort ends it while streaming and while waiting", async () => {
    const oracle = new FakeOracle().streaming("run-1");
    const streaming = sending(oracle);
    await until(() => oracle.streams.length === 1);
    streaming.abort.abort();
    expect(await streaming.end).toBe("aborted");
    const waiting = sending(oracle);
    await until(() => oracle.streams.length === 2);
    oracle.stream().end();
    await until(() => vi.getTimerCount() === 1);
    waiting.abort.abort();
    expect(await waiting.end).toBe("aborted");
    expect(vi.getTimerCount()).toBe(0);
    expect(resumes(oracle)).toEqual([]);
  });

  test("an error of the page is not a broken line", async () => {
    const oracle = new FakeOracle().streaming("run-1");
    const turn = sending(oracle, () => {
      throw new Error("the page's own");
    });
    await until(() => oracle.streams.length === 1);
    oracle.stream().frame(1, "message", { content: "a" });
    await expect(turn.end).rejects.toThrow("the page's own");
    expect(resumes(oracle)).toEqual([]);
  });

  test("what is no JSON object is passed over", async () => {
    const oracle = new FakeOracle().streaming("run-1");
    const turn = sending(oracle);
    await until(() => oracle.streams.length === 1);
    oracle.stream().raw("event: message\nid: 1\ndata: {\n\n").frame(2, "message", null);
    oracle.stream().frame(3, "done").end();
    expect(await turn.end).toBe("done");
    expect(turn.frames).toEqual(["done"]);
  });
});

describe("a message whose answer was lost", () => {
  const lookUps = (oracle: FakeOracle) => oracle.requests("GET", /\/run\?requestId=q-1$/);

  /** An oracle whose answer to a message never comes, and what it says of runs. */
  function losing(
    lost: () => Response | Promise<Response>,
    run: () => Response | Promise<Response>,
  ) {
    const oracle = new FakeOracle().on("POST", /./, lost);
    oracle.on("GET", /\/run\?requestId=/, run);
    resuming(oracle, (signal) => new Stream(signal).frame(1, "done").response());
    return oracle;
  }
  const offline = () => Promise.reject(new TypeError("offline"));
  const taken = () => json({ run: { runId: "run-1", requestId: "q-1", status: "finished" } });

  test.each([
    ["by the line", offline],
    ["by a gateway", () => json({}, 504)],
  ])("%s is found by its request and followed", async (_, lost) => {
    const oracle = losing(lost, taken);
    const turn = sending(oracle);
    expect(await turn.end).toBe("done");
    expect(turn.ids).toEqual([{ requestId: "q-1", runId: "run-1" }]);
    expect(resumes(oracle)).toEqual(["/runs/run-1?after=0"]);
    expect(oracle.requests("POST", /./)).toHaveLength(1);
  });

  test.each([
    ["nothing is under way", () => json({ run: null })],
    ["only another one is", () => json({ run: { runId: "run-0", requestId: "other" } })],
    ["who is asked knows no runs", () => json({ message: "Cannot GET" }, 404)],
  ])("and not the message only is a failure: %s", async (_, run) => {
    const oracle = losing(offline, run);
    await expect(sending(oracle).end).rejects.toThrow("offline");
    expect(lookUps(oracle)).toHaveLength(1);
    expect(resumes(oracle)).toEqual([]);
  });

  test("is looked for while the line is away, but not long", async () => {
    let tries = 0;
    const oracle = losing(offline, () => (++tries < 3 ? offline() : taken()));
    const turn = sending(oracle);
    for (let i = 0; i < 2; i++) {
      await until(() => vi.getTimerCount() === 1);
      await vi.advanceTimersToNextTimerAsync();
    }
    expect(await turn.end).toBe("done");
    const away = losing(offline, offline);
    const never = expect(sending(away).end).rejects.toThrow("offline");
    await vi.advanceTimersByTimeAsync(5000);
    await never;
    expect(lookUps(away)).toHaveLength(3);
  });

  test("is not looked for when it was refused, or never sent", async () => {
    const refused = losing(() => json({ message: "busy" }, 503), taken);
    await expect(sending(refused).end).rejects.toThrow("busy");
    const unsigned = losing(offline, taken);
    const declined = keeperOf({ invocation: () => Promise.reject(new TypeError("declined")) });
    await expect(sending(unsigned, undefined, declined).end).rejects.toThrow("declined");
    expect([...lookUps(refused), ...lookUps(unsigned)]).toEqual([]);
  });

  test("and that is given up meanwhile ends so", async () => {
    const oracle = losing(offline, offline);
    const turn = sending(oracle);
    await until(() => vi.getTimerCount() === 1);
    turn.abort.abort();
    expect(await turn.end).toBe("aborted");
    expect(vi.getTimerCount()).toBe(0);
  });

  test("and that is given up before it is looked for again ends at once", async () => {
    // Whoever is asked then never answers: only what was given up ends it.
    const oracle = losing(offline, offline);
    const turn = sending(oracle);
    await until(() => vi.getTimerCount() === 1);
    oracle.on("GET", /\/run\?requestId=/, () => new Promise(() => undefined));
    turn.abort.abort();
    expect(await turn.end).toBe("aborted");
  });
});

describe("a message whose token is refused", () => {
  const minute = 60_000;

  /** An oracle that refuses the first token, and a wallet that signs the next one, when the test says so. */
  function refusing() {
    const oracle = new FakeOracle();
    let refuse!: () => void;
    let sign!: () => void;
    let mints = 0;
    const posts = () => oracle.requests("POST", /./).length;
    oracle.on("POST", /./, (_, signal) =>
      posts() === 1
        ? new Promise((resolve) => (refuse = () => resolve(json({}, 401))))
        : new Stream(signal).frame(1, "done").response(),
    );
    const token = (n: number) => ({ serialized: `t-${n}`, expiresAt: Date.now() + 60 * minute });
    const keeper = keeperOf({
      invocation: () =>
        ++mints === 1
          ? Promise.resolve(token(1))
          : new Promise((resolve) => (sign = () => resolve(token(2)))),
    });
    const turn = sending(oracle, undefined, keeper);
    return {
      oracle,
      turn,
      sent: () => until(() => posts() === 1),
      refuse: () => {
        refuse();
        return until(() => mints === 2);
      },
      sign: () => sign(),
    };
  }

  test("is not given back while a wallet signs another, however long", async () => {
    const { oracle, turn, ...does } = refusing();
    oracle.on("GET", /\/run\?requestId=/, () => json({ run: null }));
    await does.sent();
    await does.refuse();
    await vi.advanceTimersByTimeAsync(5 * minute);
    does.sign();
    expect(await turn.end).toBe("done");
    expect(oracle.requests("GET", /./)).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is not given back for what was asked before the refusal", async () => {
    const { oracle, turn, ...does } = refusing();
    let tell!: () => void;
    oracle.on(
      "GET",
      /\/run\?requestId=/,
      () => new Promise((resolve) => (tell = () => resolve(json({ run: null })))),
    );
    await does.sent();
    await vi.advanceTimersByTimeAsync(minute);
    await until(() => oracle.requests("GET", /./).length === 1);
    await does.refuse();
    tell();
    await vi.advanceTimersByTimeAsync(0);
    does.sign();
    expect(await turn.end).toBe("done");
  });
});

test("resumeTurn begins at the beginning, without waiting", async () => {
  const oracle = new FakeOracle();
  resuming(oracle, (signal) => new Stream(signal).frame(1, "done").response());
  const frames: Frame[] = [];
  const handlers = { accepted: () => undefined, frame: (f: Frame) => void frames.push(f) };
  const api = oracle.api(keeperOf({}));
  expect(await resumeTurn(api, "run/1", handlers, new AbortController().signal)).toBe("done");
  expect(resumes(oracle)).toEqual(["/runs/run%2F1?after=0"]);
  expect(frames).toHaveLength(1);
});
