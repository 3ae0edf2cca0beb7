import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ai, chatWith, human, talking } from "../testkit/chat";
import { FakeOracle } from "../testkit/oracle";
import type { StoredMessage } from "./types";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const said = { kind: "server", message: "Please try again.", retryable: true };
const failed = (id: string): StoredMessage => ({ ...ai(id, said.message), error: said });
const { message: text, ...why } = said;
const alert = [{ type: "error", text, ...why }];
const content = { name: "Error", props: { error: text, event: "error", ...why } };

describe("a turn that failed", () => {
  test("is told once, as it was streamed, when the history has it", async () => {
    const oracle = new FakeOracle();
    const { chat, get, stream, sent } = await talking(oracle);
    stream
      .frame(1, "message", { content: "Half" })
      .frame(2, "error", { error: text, ...why })
      .frame(3, "done", { status: "failed" });
    oracle.history = [human("h-1", "hi"), ai("a-1", "Half"), failed("e-1")];
    stream.end();
    await sent;
    const shown = get().messages;
    await chat.refetch();
    expect(get().messages.map((m) => m.parts?.[0])).toEqual([
      { type: "text", text: "hi" },
      { type: "text", text: "Half" },
      ...alert,
    ]);
    expect(get().messages.map((m) => m.id)).toEqual(shown.map((m) => m.id));
    expect(get().messages[2]).toMatchObject({ content });
    expect(get().status).toBe("error");
  });

  test("before its first word is told once too", async () => {
    const oracle = new FakeOracle();
    const { chat, get, stream, sent } = await talking(oracle);
    stream.frame(1, "error", { error: text, ...why }).frame(2, "done", { status: "failed" });
    oracle.history = [human("h-1", "hi"), failed("e-1")];
    stream.end();
    await sent;
    await chat.refetch();
    expect(
      get()
        .messages.slice(1)
        .map((m) => m.parts),
    ).toEqual([alert]);
  });

  test("is an error of a page that is opened afterwards, and can be asked again", async () => {
    const oracle = new FakeOracle();
    const call = { id: "c-1", name: "look", args: {}, status: "done" as const };
    oracle.history = [
      human("h-1", "hi"),
      { ...ai("a-1", "Let me see."), toolCalls: [call] },
      failed("e-1"),
    ];
    const { chat, get } = chatWith(oracle);
    await chat.open();
    expect(get()).toMatchObject({
      status: "error",
      error: { name: "TurnError", message: said.message, kind: "server", retryable: true },
    });
    expect(get().messages).toHaveLength(3);
    expect(get().messages[2]).toMatchObject({ id: "e-1", parts: alert, content });
    expect(get().messages[2]).not.toHaveProperty("error");
    chat.clearError();
    await chat.refetch();
    expect(get()).toMatchObject({ status: "ready", error: undefined });
  });

  test("is past when something was said behind it", async () => {
    const oracle = new FakeOracle();
    oracle.history = [human("h-1", "hi"), failed("e-1"), human("h-2", "and?"), ai("a-2", "Yes.")];
    const { chat, get } = chatWith(oracle);
    await chat.open();
    expect(get()).toMatchObject({ status: "ready", error: undefined });
    expect(get().messages[1]?.parts).toEqual(alert);
  });
});
