import { expect, test, vi } from "vitest";
import { ai, chatWith, human, talking, texts } from "../testkit/chat";
import { FakeOracle, json, Stream, until } from "../testkit/oracle";
import type { OracleEvent } from "./events";

const started = (requestId: string, runId: string, tabId: string): OracleEvent => ({
  eventName: "run_started",
  payload: { sessionId: "$s", requestId, runId, tabId },
});

/** An oracle at which a page elsewhere began a turn. */
function elsewhere(oracle: FakeOracle) {
  const stream = new Stream(undefined);
  oracle.on("GET", /^\/runs\/run-2/, () => stream.response());
  oracle.history = [...oracle.history, human("m-1", "from the other tab")];
  oracle.run = { runId: "run-2", status: "running" };
  return stream;
}

test("a turn of another tab is followed while it goes on, and not cut by a message", async () => {
  const oracle = new FakeOracle().streaming("run-3");
  const { chat, get } = chatWith(oracle);
  await chat.open();
  const stream = elsewhere(oracle);
  chat.takeEvent(started("r-2", "run-2", "tab-2"));
  await until(() => get().status === "streaming");
  stream.frame(1, "run", { runId: "run-2", requestId: "r-2" });
  stream.frame(2, "message", { content: "half" });
  await vi.waitFor(() => expect(texts(get().messages)).toEqual(["from the other tab", "half"]));
  void chat.send("mine");
  await until(() => oracle.streams.length === 1);
  const [post] = oracle.requests("POST", /^\/messages\//);
  expect(post?.body).toMatchObject({ message: "mine", tabId: "tab-1", multitask: "enqueue" });
});

test("a turn of this tab is not joined again, and a message ends it unless the page says otherwise", async () => {
  const oracle = new FakeOracle();
  const { chat, stream } = await talking(oracle);
  chat.takeEvent(started("r-1", "run-1", "tab-1"));
  stream.frame(1, "done", { status: "finished" });
  stream.end();
  await until(() => chat.state.get().status === "ready");
  expect(oracle.requests("GET", /^\/runs\//)).toEqual([]);
  const [post] = oracle.requests("POST", /^\/messages\//);
  expect(post?.body).not.toHaveProperty("multitask");
  const other = chatWith(oracle, { multitask: () => "reject" });
  void other.chat.send("x");
  await until(() => oracle.requests("POST", /^\/messages\//).length === 2);
  expect(oracle.requests("POST", /^\/messages\//)[1]?.body).toMatchObject({ multitask: "reject" });
});

test("a turn that another tab begins meanwhile is followed after this one", async () => {
  const oracle = new FakeOracle();
  const { chat, stream, get } = await talking(oracle);
  chat.takeEvent(started("r-2", "run-2", "tab-2"));
  oracle.history = [human("m-0", "hi")];
  const next = elsewhere(oracle);
  stream.frame(1, "done", { status: "aborted" });
  stream.end();
  await until(() => oracle.requests("GET", /^\/runs\/run-2/).length === 1);
  next.frame(1, "message", { content: "other" });
  next.frame(2, "done", { status: "finished" });
  next.end();
  await until(() => get().status === "ready");
  expect(texts(get().messages)).toEqual(["hi", "from the other tab", "other"]);
});

test("a turn that ends while a tab is opened is read to its end", async () => {
  const oracle = new FakeOracle();
  oracle.history = [human("m-1", "from the other tab")];
  oracle.on("GET", /^\/sessions\/[^/]+\/run$/, () => {
    // It ended between the two readings, and the line is not there yet.
    oracle.history = [human("m-1", "from the other tab"), ai("m-2", "whole")];
    return json({ run: { runId: "run-2", status: "finished" } });
  });
  const { chat, get } = chatWith(oracle);
  await chat.open();
  expect(texts(get().messages)).toEqual(["from the other tab", "whole"]);
});

test("what began before the line was there is followed, and what ended is read", async () => {
  const oracle = new FakeOracle();
  const { chat, get } = chatWith(oracle);
  await chat.open();
  const stream = elsewhere(oracle);
  chat.connected();
  await until(() => get().status === "streaming");
  stream.frame(1, "message", { content: "half" });
  stream.frame(2, "done", { status: "finished" });
  oracle.history = [...oracle.history, ai("m-2", "half")];
  stream.end();
  await until(() => get().status === "ready");
  expect(texts(get().messages)).toEqual(["from the other tab", "half"]);

  const late = chatWith(oracle);
  oracle.run = { runId: "run-2", status: "finished" };
  await late.chat.open();
  oracle.run = { runId: "run-3", status: "finished" };
  oracle.history = [...oracle.history, human("m-3", "more"), ai("m-4", "all")];
  late.chat.connected();
  await until(() => late.get().messages.length === 4);
  // When nothing happened nothing is read.
  const reads = () => oracle.requests("GET", /\/messages/).length;
  const before = reads();
  const runs = oracle.requests("GET", /\/run$/).length;
  late.chat.connected();
  await until(() => oracle.requests("GET", /\/run$/).length > runs);
  await until(() => true);
  expect(reads()).toBe(before);
});
