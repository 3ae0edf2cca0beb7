import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { chatWith, human, texts } from "../testkit/chat";
import { FakeOracle, json, Stream, until } from "../testkit/oracle";
import { isWorthTrying, mayPass } from "./again";
import { RequestError, TurnError } from "./errors";
import { Resource } from "./resource";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const away = () => Promise.reject(new TypeError("Failed to fetch"));

test("what a line or a server did may pass, what the oracle refused does not", () => {
  expect(mayPass(new TypeError("Failed to fetch"))).toBe(true);
  for (const status of [408, 429, 500, 502, 503, 504]) {
    expect(mayPass(new RequestError(status, "no")), String(status)).toBe(true);
  }
  for (const status of [400, 401, 402, 403, 404]) {
    expect(mayPass(new RequestError(status, "no")), String(status)).toBe(false);
  }
  expect(mayPass(new Error("The wallet said no"))).toBe(false);
});

test("people try again what may pass, and nothing that the oracle has judged", () => {
  for (const cause of [
    new TypeError("Failed to fetch"),
    new Error("The wallet said no"),
    ...[408, 409, 429, 500, 503].map((status) => new RequestError(status, "no")),
    new TurnError({ error: "busy", kind: "rate_limit", retryable: true }),
    new TurnError({ error: "Older oracles do not say." }),
  ]) {
    expect(isWorthTrying(cause), cause.message).toBe(true);
  }
  for (const cause of [
    ...[400, 401, 403, 404, 413, 422].map((status) => new RequestError(status, "no")),
    new TurnError({ error: "refused", kind: "filter", retryable: false }),
  ]) {
    expect(isWorthTrying(cause), cause.message).toBe(false);
  }
});

test("what is shown is read until it is there, more and more seldom", async () => {
  vi.spyOn(Math, "random").mockReturnValue(0.5);
  let asked = 0;
  const resource = new Resource<string>();
  const leave = resource.use(() => (++asked < 4 ? away() : Promise.resolve("there")));
  await vi.advanceTimersByTimeAsync(0);
  expect(resource.state.get().error?.message).toBe("Failed to fetch");
  for (const wait of [1000, 2000, 4000]) {
    const before = asked;
    await vi.advanceTimersByTimeAsync(wait - 1);
    expect(asked).toBe(before);
    await vi.advanceTimersByTimeAsync(1);
    expect(asked).toBe(before + 1);
  }
  expect(resource.state.get()).toEqual({ data: "there", error: undefined, isLoading: false });
  await vi.advanceTimersByTimeAsync(600_000);
  expect(asked).toBe(4);
  leave();
});

test("what nobody shows any more, or what was refused, is not asked for again", async () => {
  for (const refuse of [away, () => Promise.reject(new RequestError(403, "no"))]) {
    let asked = 0;
    const resource = new Resource<string>();
    const leave = resource.use(() => {
      asked++;
      return refuse();
    });
    await vi.advanceTimersByTimeAsync(0);
    if (refuse === away) leave();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(asked).toBe(1);
  }
});

test("a page that is back asks at once", async () => {
  const target = new EventTarget();
  vi.stubGlobal("addEventListener", target.addEventListener.bind(target));
  vi.stubGlobal("removeEventListener", target.removeEventListener.bind(target));
  try {
    for (const wake of ["online", "focus"]) {
      let asked = 0;
      const resource = new Resource<string>();
      const leave = resource.use(() => (++asked < 2 ? away() : Promise.resolve("there")));
      await vi.advanceTimersByTimeAsync(0);
      target.dispatchEvent(new Event(wake));
      await vi.advanceTimersByTimeAsync(0);
      expect(resource.state.get().data).toBe("there");
      target.dispatchEvent(new Event(wake));
      expect(asked).toBe(2);
      leave();
    }
  } finally {
    vi.unstubAllGlobals();
  }
});

test("a conversation that opened while the oracle was away comes by itself", async () => {
  const oracle = new FakeOracle();
  let isAway = true;
  oracle.history = [human("h", "hi")];
  const there = oracle.history;
  oracle.on("GET", /messages/, () => (isAway ? away() : json({ messages: there })));
  const { chat, get } = chatWith(oracle);
  await chat.open();
  expect(get()).toMatchObject({ isLoading: false, isRetrying: true, messages: [] });
  expect(get().error?.message).toBe("Failed to fetch");
  isAway = false;
  await vi.advanceTimersByTimeAsync(2000);
  await until(() => get().messages.length === 1);
  expect(texts(get().messages)).toEqual(["hi"]);
  expect(get()).toMatchObject({ error: undefined, isRetrying: false });
  chat.close();
});

test("what was refused is not said to be tried again", async () => {
  const oracle = new FakeOracle().on("GET", /messages/, () => json({ message: "no" }, 403));
  const { chat, get } = chatWith(oracle);
  await chat.open();
  expect(get()).toMatchObject({ isRetrying: false, error: { message: "no" } });
  chat.close();
});

test("who does not wait reads it at once, and joins the turn that is under way", async () => {
  const oracle = new FakeOracle();
  let isAway = true;
  oracle.on("GET", /messages/, () => (isAway ? away() : json({ messages: [human("h", "hi")] })));
  oracle.run = { runId: "run-1", status: "running" };
  oracle.on("GET", /^\/runs\/run-1/, (_, signal) => {
    return new Stream(signal).frame(1, "message", { content: "So" }).response();
  });
  const { chat, get } = chatWith(oracle);
  await chat.open();
  isAway = false;
  await chat.reread();
  expect(get()).toMatchObject({ isRetrying: false, error: undefined });
  await vi.advanceTimersByTimeAsync(200);
  await until(() => get().messages.length === 2);
  await vi.advanceTimersByTimeAsync(200);
  expect(texts(get().messages)).toEqual(["hi", "So"]);
  chat.close();
});

test("a line that comes up reads what could not be read, and nothing else", async () => {
  const oracle = new FakeOracle();
  let isAway = true;
  oracle.on("GET", /messages/, () => (isAway ? away() : json({ messages: [] })));
  const { chat, get } = chatWith(oracle);
  await chat.open();
  isAway = false;
  chat.connected();
  await vi.advanceTimersByTimeAsync(0);
  expect(get().error).toBe(undefined);
  chat.connected();
  await vi.advanceTimersByTimeAsync(0);
  expect(oracle.requests("GET", /messages/)).toHaveLength(2);
  chat.close();
});
