import { expect, test, vi } from "vitest";
import { chatWith, human, talking, texts } from "../testkit/chat";
import { FakeOracle, Stream, until } from "../testkit/oracle";
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
