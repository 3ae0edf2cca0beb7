import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ai, chatWith, flush, human, talking, texts } from "../testkit/chat";
import { FakeOracle, json, until } from "../testkit/oracle";
import type { OracleEvent } from "./events";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

const invalidated = (
  requestId: string,
  more: { ended?: boolean; title?: string } = {},
): OracleEvent => ({
  eventName: "message_cache_invalidation",
  payload: { sessionId: "$s", requestId, status: "done", ...more },
});

const reads = (oracle: FakeOracle) => oracle.requests("GET", /messages/).length;

/** A conversation whose first turn has ended, and what the server stored of it. */
async function settled() {
  const oracle = new FakeOracle();
  const made = await talking(oracle);
  made.stream.frame(1, "message", { content: "Hello" });
  oracle.history = [human("h-1", "hi"), ai("a-1", "Hello")];
  made.stream.frame(2, "done", { status: "finished" }).end();
  await made.sent;
  return { oracle, ...made };
}

describe("a turn that was followed to its end", () => {
  test("costs one request, and its own event none", async () => {
    const { oracle, chat, get } = await settled();
    expect(get()).toMatchObject({ status: "ready", run: undefined });
    expect(texts(get().messages)).toEqual(["hi", "Hello"]);
    expect(get().messages[1]).toMatchObject({ isComplete: true, isReasoning: false });
    chat.takeEvent(invalidated("r-1", { ended: true }));
    chat.takeEvent(invalidated("r-1", { title: "Greetings" }));
    await flush();
    expect(reads(oracle)).toBe(1);
    expect(oracle.seen).toHaveLength(3); // history and run at the opening, the message
  });

  test("keeps its thoughts, and not the phrase that said that it began", async () => {
    const oracle = new FakeOracle();
    const { get, sent, stream } = await talking(oracle);
    stream.frame(1, "reasoning", { reasoning: "Thinking...", isComplete: false });
    await flush();
    expect(get().messages[1]).toMatchObject({ reasoning: "Thinking...", isReasoning: true });
    stream.frame(2, "reasoning", { reasoning: "First the spring", isComplete: false });
    stream.frame(3, "reasoning", { reasoning: "...", isComplete: false });
    stream.frame(4, "message", { content: "Water" }).frame(5, "done").end();
    await sent;
    expect(get().messages[1]).toMatchObject({ reasoning: "First the spring..." });
  });

  test("that thought nothing keeps nothing of it", async () => {
    const oracle = new FakeOracle();
    const { get, sent, stream } = await talking(oracle);
    stream.frame(1, "reasoning", { reasoning: "Working...", isComplete: false });
    stream.frame(2, "message", { content: "Water" }).frame(3, "done").end();
    await sent;
    expect(get().messages[1]).not.toHaveProperty("reasoning");
  });

  test("is the same one in the history that is read later", async () => {
    const { oracle, chat, get } = await settled();
    const ids = get().messages.map((m) => m.id);
    chat.takeEvent(invalidated("somebody's"));
    await until(() => reads(oracle) === 2);
    await flush();
    expect(texts(get().messages)).toEqual(["hi", "Hello"]);
    expect(get().messages.map((m) => m.id)).toEqual(ids);
  });

  test("is there once when the history is read in the middle of the next", async () => {
    const { oracle, chat, get } = await settled();
    const sent = chat.send("hi");
    await until(() => get().status === "streaming");
    oracle.history = [...oracle.history, human("h-2", "hi")];
    await chat.refetch();
    expect(texts(get().messages)).toEqual(["hi", "Hello", "hi", ""]);
    oracle.history = [...oracle.history, ai("a-2", "Again")];
    oracle.stream().frame(1, "message", { content: "Again" }).frame(2, "done").end();
    await sent;
    await chat.refetch();
    expect(texts(get().messages)).toEqual(["hi", "Hello", "hi", "Again"]);
  });

  test("is read when something else changed meanwhile", async () => {
    const oracle = new FakeOracle();
    const { chat, get, sent, stream } = await talking(oracle);
    chat.takeEvent(invalidated("r-1"));
    oracle.history = [human("h", "hi"), ai("a", "Hello, with a note")];
    stream.frame(1, "message", { content: "Hello" }).frame(2, "done").end();
    await sent;
    expect(texts(get().messages)).toEqual(["hi", "Hello, with a note"]);
    expect(reads(oracle)).toBe(2);
  });

  test.each([{ status: "aborted" }, { failed: true }, { interrupted: true }])(
    "and did not finish is read: %j",
    async (how) => {
      const oracle = new FakeOracle();
      const { get, sent, stream } = await talking(oracle);
      oracle.history = [human("h", "hi"), ai("a", "Hel")];
      stream.frame(1, "message", { content: "Hello" }).frame(2, "done", how).end();
      await sent;
      expect(texts(get().messages)).toEqual(["hi", "Hel"]);
    },
  );
});

describe("an oracle that knows no pages", () => {
  const plain = (status: number, body: BodyInit) => new Response(body, { status });

  test.each([
    ["404 as JSON", () => json({ statusCode: 404, message: "Cannot GET" }, 404)],
    ["404 as text", () => plain(404, "404 page not found")],
    ["405 without a body", () => plain(405, "")],
  ])("says so by %s; then its list is read, once", async (_, refusal) => {
    const oracle = new FakeOracle()
      .on("GET", /^\/sessions\/[^/]+\/messages/, refusal)
      .on("GET", /^\/messages\/\$?/, () => json({ messages: [human("h", "a"), ai("b", "b")] }));
    const { chat, get, sent, stream } = await talking(oracle);
    expect(texts(get().messages)).toEqual(["a", "b", "hi", ""]);
    expect(get()).toMatchObject({ error: undefined, hasEarlier: false });
    stream.frame(1, "message", { content: "c" }).frame(2, "done").end();
    await sent;
    expect(texts(get().messages)).toEqual(["a", "b", "hi", "c"]);
    expect(oracle.requests("GET", /^\/messages\//)).toHaveLength(1);
    await chat.refetch();
    expect(oracle.requests("GET", /^\/sessions\/[^/]+\/messages/)).toHaveLength(1);
  });

  test("is told from one that refuses", async () => {
    const oracle = new FakeOracle().on("GET", /messages/, () => json({ message: "no" }, 403));
    const { chat, get } = chatWith(oracle);
    await chat.open();
    expect(get().error?.message).toBe("no");
    expect(oracle.requests("GET", /^\/messages\//)).toHaveLength(0);
  });
});
