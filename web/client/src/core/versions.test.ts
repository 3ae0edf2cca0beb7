import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ai, chatWith, flush, human, talking, texts } from "../testkit/chat";
import { FakeOracle, json, Stream, until } from "../testkit/oracle";
import type { StoredMessage } from "./types";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

const versions = /^\/sessions\/%24s\/messages\/([^/]+)\/versions$/;

/** Answers what is asked anew with a stream that the test writes. */
function asksAnew(oracle: FakeOracle): FakeOracle {
  return oracle.on("POST", versions, (_, signal) => {
    const stream = new Stream(signal);
    oracle.streams.push(stream);
    const id = `v-${oracle.streams.length}`;
    return stream.response({ "X-Request-Id": id, "X-Run-Id": id });
  });
}

function version(number: number, messageIds: string[], kind = "regenerated" as const) {
  return { version: { number, count: messageIds.length, kind, messageIds } };
}

const two: StoredMessage[] = [
  human("h-1", "tea"),
  ai("a-1", "Green?"),
  human("h-2", "black"),
  ai("a-2", "Here."),
];

/** A page that shows two turns. */
async function reading() {
  const oracle = asksAnew(new FakeOracle());
  oracle.history = two;
  const made = chatWith(oracle);
  await made.chat.open();
  return { oracle, ...made };
}

/** The stream says something and is over; the history is from then on what is given. */
function ends(oracle: FakeOracle, said: string, history: StoredMessage[]) {
  oracle.history = history;
  oracle.stream().frame(1, "message", { content: said }).frame(2, "done", {}).end();
}

describe("a turn that is asked again", () => {
  test("takes its place, with what followed it gone", async () => {
    const { oracle, chat, get } = await reading();
    const [first] = get().messages;
    const asked = chat.askAnew("a-1");
    await until(() => get().status === "streaming");
    expect(oracle.requests("POST", versions).map((r) => r.path)).toEqual([
      "/sessions/%24s/messages/h-1/versions",
    ]);
    const body = oracle.requests("POST", versions)[0]?.body;
    expect(body).toMatchObject({ stream: true, tabId: "tab-1" });
    expect(body).not.toHaveProperty("message");
    expect(texts(get().messages)).toEqual(["tea", ""]);
    ends(oracle, "White?", [
      { ...human("h-3", "tea"), ...version(2, ["h-1", "h-3"]) },
      ai("a-3", "White?"),
    ]);
    await asked;
    expect(texts(get().messages)).toEqual(["tea", "White?"]);
    expect(get().messages[0]?.version).toEqual(version(2, ["h-1", "h-3"]).version);
    expect(get().messages[0]?.id).not.toBe(first?.id);
    expect(get().status).toBe("ready");
  });

  test("may be asked otherwise", async () => {
    const { oracle, chat, get } = await reading();
    const asked = chat.askAnew("h-2", "green", [{ filename: "a", mimetype: "b" }]);
    await until(() => get().status === "streaming");
    expect(oracle.requests("POST", versions)[0]).toMatchObject({
      path: "/sessions/%24s/messages/h-2/versions",
      body: { message: "green", attachments: [{ filename: "a" }] },
    });
    expect(texts(get().messages)).toEqual(["tea", "Green?", "green", ""]);
    ends(oracle, "Good.", [...two.slice(0, 2), human("h-3", "green"), ai("a-3", "Good.")]);
    await asked;
    expect(texts(get().messages)).toEqual(["tea", "Green?", "green", "Good."]);
  });

  test("comes back when the oracle refuses", async () => {
    const { oracle, chat, get } = await reading();
    oracle.on("POST", versions, () => json({ message: "No more" }, 409));
    await expect(chat.askAnew()).rejects.toThrow("No more");
    expect(texts(get().messages)).toEqual(["tea", "Green?", "black", "Here."]);
    expect(get()).toMatchObject({ status: "error", sendMessageError: { message: "No more" } });
    chat.clearError();
    expect(get()).toMatchObject({ status: "ready", sendMessageError: undefined });
    await expect(chat.askAnew("nowhere")).rejects.toThrow("There is no such message");
  });

  test("is known by the server's id when it came by a stream", async () => {
    const oracle = asksAnew(new FakeOracle());
    const { chat, get, sent } = await talking(oracle);
    const history = [human("h-1", "hi"), ai("a-1", "Hello.")];
    ends(oracle, "Hello.", history);
    await sent;
    const [question] = get().messages;
    const later = chat.send("more");
    await until(() => oracle.streams.length === 2 && get().status === "streaming");
    ends(oracle, "Yes.", [...history, human("h-2", "more"), ai("a-2", "Yes.")]);
    await later;
    const asked = chat.askAnew(question?.id);
    await until(() => oracle.streams.length === 3);
    expect(oracle.requests("POST", versions)[0]?.path).toContain("/h-1/");
    ends(oracle, "Hi!", [human("h-3", "hi"), ai("a-3", "Hi!")]);
    await asked;
    expect(texts(get().messages)).toEqual(["hi", "Hi!"]);
  });
});

describe("a turn that failed", () => {
  test("is retried in its place, and what was wrong with it goes", async () => {
    const oracle = asksAnew(new FakeOracle());
    const { chat, get, stream, sent } = await talking(oracle);
    oracle.history = [human("h-1", "hi")];
    stream.frame(1, "error", { error: "Busy" }).frame(2, "done", { status: "failed" }).end();
    await sent;
    expect(get().status).toBe("error");
    expect(get().messages).toHaveLength(2);
    const again = chat.retry();
    await until(() => oracle.streams.length === 2 && get().status === "streaming");
    await flush();
    expect(texts(get().messages)).toEqual(["hi", ""]);
    ends(oracle, "Hello.", [human("h-2", "hi"), ai("a-2", "Hello.")]);
    await again;
    expect(texts(get().messages)).toEqual(["hi", "Hello."]);
    expect(get()).toMatchObject({ status: "ready", error: undefined });
    expect(oracle.requests("POST", /^\/messages\/%24s$/)).toHaveLength(1);
  });

  test("is sent again to an oracle that knows no versions", async () => {
    const oracle = new FakeOracle();
    const { chat, get, stream, sent } = await talking(oracle);
    oracle.history = [human("h-1", "hi")];
    stream.frame(1, "error", { error: "Busy" }).frame(2, "done", { status: "failed" }).end();
    await sent;
    const again = chat.retry();
    await until(() => oracle.streams.length === 2 && get().status === "streaming");
    ends(oracle, "Hello.", [human("h-1", "hi"), human("h-2", "hi"), ai("a-2", "Hello.")]);
    await again;
    expect(get()).toMatchObject({ status: "ready", sendMessageError: undefined });
  });
});

test("another version is chosen and shown, and errors of the one before are not", async () => {
  const { oracle, chat, get } = await reading();
  oracle.history = [{ ...human("h-3", "tea"), ...version(2, ["h-1", "h-3"]) }, ai("a-3", "White?")];
  await chat.refetch();
  oracle.on("POST", /\/h-1\/choose$/, () => {
    oracle.history = two.map((m, i) => (i ? m : { ...m, ...version(1, ["h-1", "h-3"]) }));
    return json({ versions: [] });
  });
  await chat.choose("h-1");
  expect(texts(get().messages)).toEqual(["tea", "Green?", "black", "Here."]);
  expect(get().messages[0]?.version?.number).toBe(1);
  oracle.on("POST", /\/h-3\/choose$/, () => json({ message: "run_active" }, 409));
  await expect(chat.choose("h-3")).rejects.toThrow("run_active");
});

test("an answer is rated, and the rating is taken back", async () => {
  const { oracle, chat, get } = await reading();
  oracle.on("PUT", /feedback$/, () => json({ rating: "down" }));
  oracle.on("DELETE", /feedback$/, () => new Response(null, { status: 204 }));
  const [, , , answer] = get().messages;
  await chat.rate("a-2", "down", "It is cold");
  expect(oracle.requests("PUT", /feedback$/)).toMatchObject([
    { path: "/sessions/%24s/messages/a-2/feedback", body: { rating: "down", text: "It is cold" } },
  ]);
  expect(get().messages[3]?.feedback).toEqual({ rating: "down", text: "It is cold" });
  await chat.rate("a-2", null);
  expect(get().messages[3]).toEqual(answer);
});

test("what a page shows by itself is there until the history is read", async () => {
  const { chat, get } = await reading();
  chat.setMessages(get().messages.slice(0, 2));
  expect(texts(get().messages)).toEqual(["tea", "Green?"]);
  await chat.refetch();
  expect(texts(get().messages)).toEqual(["tea", "Green?", "black", "Here."]);
});
