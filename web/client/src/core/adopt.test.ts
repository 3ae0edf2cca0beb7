import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ai, chatWith, flush, human, talking, texts } from "../testkit/chat";
import { FakeOracle, Stream, until } from "../testkit/oracle";

const now = "2026-11-16T02:00:00.000Z";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], now: new Date(now) });
});
afterEach(() => void vi.useRealTimers());

/** A turn of two steps: a call, then what came of it. */
async function lookedUp() {
  const oracle = new FakeOracle();
  const open = await talking(oracle);
  const call = { toolName: "look", eventId: "c-1", args: { q: "x" } };
  open.stream
    .frame(1, "message", { content: "Let me see. " })
    .frame(2, "tool_call", { ...call, status: "isRunning" })
    .frame(3, "tool_call", { ...call, status: "done", output: "found" })
    .frame(4, "render_component", { componentName: "Card", args: { a: 1 }, eventId: "c-1" })
    .frame(5, "reasoning", { reasoning: "Hm", isComplete: false })
    .frame(6, "message", { content: "It is there." })
    .frame(7, "done", { status: "finished" })
    .end();
  await open.sent;
  const stored = { id: "c-1", name: "look", args: { q: "x" }, status: "done" as const };
  const component = { name: "Card", args: { a: 1 } };
  oracle.history = [
    { ...human("h-1", "hi"), createdAt: "2026-11-16T01:59:00.000Z", isComplete: true },
    { ...ai("a-1", "Let me see. "), toolCalls: [{ ...stored, output: '"found"', component }] },
    { ...ai("a-2", "It is there."), reasoning: "Hm" },
  ];
  return { ...open, oracle };
}

describe("when it was said", () => {
  test("is known at once, of the message and of its reply", async () => {
    const { get, stream, sent } = await talking(new FakeOracle());
    expect(get().messages.map((m) => m.createdAt)).toEqual([now, now]);
    await vi.advanceTimersByTimeAsync(5000);
    stream.frame(1, "message", { content: "a", timestamp: "2026-11-16T01:00:00.000Z" });
    stream.frame(2, "error", { error: "no" });
    await flush();
    expect(get().messages.map((m) => m.createdAt?.slice(0, 16))).toEqual(
      Array(3).fill(now.slice(0, 16)),
    );
    expect(
      get()
        .messages.slice(0, 2)
        .map((m) => m.createdAt),
    ).toEqual([now, now]);
    stream.frame(3, "done").end();
    await sent;
  });

  test("of a turn that is joined is when the oracle began it", async () => {
    const oracle = new FakeOracle();
    oracle.history = [human("h-1", "hi")];
    oracle.run = { runId: "run-7", status: "running" };
    let stream: Stream | undefined;
    oracle.on("GET", /^\/runs\//, (_, signal) => (stream = new Stream(signal)).response());
    const { chat, get } = chatWith(oracle);
    const open = chat.open();
    await until(() => stream !== undefined);
    stream
      ?.frame(1, "reasoning", { reasoning: "Hm", timestamp: "2026-11-16T01:58:00.000Z" })
      .frame(2, "message", { content: "a", timestamp: "2026-11-16T01:59:00.000Z" });
    await flush();
    expect(get().messages[1]).toMatchObject({
      content: "a",
      createdAt: "2026-11-16T01:58:00.000Z",
    });
    chat.close();
    await open;
  });
});

describe("a history that tells what the page shows", () => {
  test("leaves finished messages as they are, steps and components too", async () => {
    const { chat, get } = await lookedUp();
    const before = get().messages;
    expect(before).toHaveLength(2);
    expect(before[1]).toMatchObject({ isComplete: true, createdAt: now });
    expect(before[1]?.content).toMatchObject([
      "Let me see. ",
      { name: "look", props: { output: "found" } },
      { name: "Card", props: { args: { a: 1 }, event: "render_component" } },
      "It is there.",
    ]);
    let told = 0;
    chat.state.subscribe(() => told++);
    await chat.changed();
    await chat.changed();
    expect(get().messages).toBe(before);
    expect(told).toBe(0);
  });

  test("goes on being recognised when another turn follows", async () => {
    const { chat, get, oracle } = await lookedUp();
    const before = get().messages;
    await chat.changed();
    oracle.history = [...oracle.history, human("h-2", "more"), ai("a-3", "Yes")];
    await chat.changed();
    expect(
      get()
        .messages.slice(0, 2)
        .every((m, i) => m === before[i]),
    ).toBe(true);
    expect(texts(get().messages.slice(2))).toEqual(["more", "Yes"]);
  });

  test("wins where it says something else, and keeps when it was", async () => {
    const { chat, get, oracle } = await lookedUp();
    const shown = get().messages.map((m) => m.id);
    oracle.history = [
      human("h-1", "hi"),
      { ...ai("a-1", "Let me see."), createdAt: "2026-11-16T03:00:00.000Z" },
      ai("a-2", "It was elsewhere."),
    ];
    await chat.changed();
    expect(texts(get().messages).slice(0, 1)).toEqual(["hi"]);
    expect(get().messages[1]).toMatchObject({ id: shown[1], content: "Let me see." });
    expect(get().messages[1]?.createdAt).toBe(now);
    expect(get().messages.find((m) => m.id === "a-2")?.content).toBe("It was elsewhere.");
    const settled = get().messages;
    await chat.changed();
    expect(get().messages).toBe(settled);
  });

  test("takes a turn over that ended while something else changed", async () => {
    const oracle = new FakeOracle();
    const { chat, get, sent, stream } = await talking(oracle);
    stream.frame(1, "message", { content: "Yes" });
    await flush();
    const mine = get().messages[0];
    oracle.history = [human("h-1", "hi"), { ...ai("a-1", "Yes"), isComplete: true }];
    await chat.changed();
    stream.frame(2, "done", { status: "finished" }).end();
    await sent;
    expect(get().messages[0]).toBe(mine);
    expect(get().messages[1]).toMatchObject({ content: "Yes", isComplete: true, createdAt: now });
  });
});
