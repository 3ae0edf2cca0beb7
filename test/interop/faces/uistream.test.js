// The AI SDK's own chat and default transport, which useChat is made of, against /ai-sdk.
import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { Post } from "./post.js";
import { start } from "./world.js";

let ours;
let post;
before(async () => {
  post = await Post.start();
  ours = await start(post.env);
});
after(async () => {
  await ours?.stop();
  post?.stop();
});

/** What useChat keeps in React. */
class State {
  status = "ready";
  error = undefined;
  constructor(messages) {
    this.messages = messages;
  }
  pushMessage = (message) => void (this.messages = [...this.messages, message]);
  popMessage = () => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (at, message) => void (this.messages = this.messages.with(at, structuredClone(message)));
  snapshot = (thing) => structuredClone(thing);
}

class Chat extends AbstractChat {
  constructor(id, { key = ours.key, messages = [], body, ...rest } = {}) {
    const headers = { authorization: `Bearer ${key}` };
    super({ id, state: new State(messages), transport: new DefaultChatTransport({ api: `${ours.url}/ai-sdk/chat`, headers, body }), ...rest });
  }

  /** The text of each message. */
  get texts() {
    return this.messages.map(({ role, parts }) => [role, parts.filter(({ type }) => type === "text").map(({ text }) => text).join("")]);
  }

  get calls() {
    return this.messages.flatMap(({ parts }) => parts.filter(({ toolCallId }) => toolCallId));
  }
}

/** Waits until a chat is done, also with what it does by itself. */
async function settled(chat, enough) {
  const deadline = Date.now() + 20_000;
  while (!(chat.status === "ready" && enough())) {
    if (chat.error) throw chat.error;
    if (Date.now() > deadline) throw new Error(`it stays ${chat.status}: ${JSON.stringify(chat.messages)}`);
    await new Promise((done) => setTimeout(done, 10));
  }
}

it("answers, and keeps the conversation", async () => {
  const chat = new Chat("talk");
  await chat.sendMessage({ text: "hello" });
  await chat.sendMessage({ text: "again" });
  assert.equal(chat.error, undefined);
  assert.deepEqual(chat.texts, [["user", "hello"], ["assistant", "Turn 1: hello"], ["user", "again"], ["assistant", "Turn 2: again"]]);
  assert.ok(chat.lastMessage.metadata.usage.totalTokens >= 0);
});

it("has the headers of the protocol", async () => {
  const body = JSON.stringify({ id: "headers", messages: [{ id: "1", role: "user", parts: [{ type: "text", text: "hi" }] }] });
  const response = await fetch(`${ours.url}/ai-sdk/chat`, { method: "POST", headers: { authorization: `Bearer ${ours.key}` }, body });
  assert.equal(response.headers.get("x-vercel-ai-ui-message-stream"), "v1");
  assert.match(await response.text(), /\ndata: \[DONE\]\n\n$/);
});

it("gives the page its calls, and takes their results", async () => {
  const tools = [{ name: "get_weather", description: "The weather.", inputSchema: { type: "object", properties: { place: { type: "string" } } } }];
  const chat = new Chat("tools", {
    body: { tools },
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall: ({ toolCall }) => void chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: `sunny in ${toolCall.input.place}` }),
  });
  await chat.sendMessage({ text: "How is the weather?" });
  await settled(chat, () => chat.texts.at(-1)[1] !== "");
  assert.deepEqual(chat.texts, [["user", "How is the weather?"], ["assistant", "It is sunny in Riga."]]);
});

for (const approved of [true, false]) {
  it(`asks before it acts, and ${approved ? "does" : "does not do"} it`, async () => {
    const chat = new Chat(`approve ${approved}`, { key: await ours.token(), sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
    await chat.sendMessage({ text: `send it ${approved}` });
    const waits = chat.calls.find(({ state }) => state === "approval-requested");
    assert.deepEqual([waits.toolName, waits.input], ["post__send", { text: `it ${approved}` }]);
    assert.ok(!post.sent.includes(`it ${approved}`));
    await chat.addToolApprovalResponse({ id: waits.approval.id, approved });
    await settled(chat, () => chat.texts.at(-1)[1] !== "");
    assert.equal(post.sent.filter((text) => text === `it ${approved}`).length, approved ? 1 : 0);
    assert.match(chat.texts.at(-1)[1], approved ? /^I did: sent/ : /^I did: .*not approve/);
    assert.equal(chat.messages.length, 2);
    assert.deepEqual(chat.calls.map(({ state }) => state), ["output-available", approved ? "output-available" : "output-error"]);
  });
}

it("lets an app key deny, but not approve", async () => {
  const chat = new Chat("key");
  await chat.sendMessage({ text: "send by key" });
  const waits = chat.calls.find(({ state }) => state === "approval-requested");
  await chat.addToolApprovalResponse({ id: waits.approval.id, approved: true });
  await chat.sendMessage();
  assert.match(chat.error.message, /An approval needs an invocation of your own/);
  assert.ok(!post.sent.includes("by key"));
});

it("shows a page that comes back the whole message", async () => {
  const letGo = ours.hold();
  const first = new Chat("back");
  const sent = first.sendMessage({ text: "slow but sure wins" });
  await settledText(first, /sure/);
  const back = new Chat("back", { messages: [first.messages[0]] }); // as a page that was loaded again
  const resumed = back.resumeStream();
  // The answer must not be over before it is resumed. Another node than the one that answers holds
  // back what was said so far until it goes on being said: see Answer.Follow.
  await settledText(back, /^/);
  letGo();
  await Promise.all([sent, resumed]);
  for (const chat of [first, back]) assert.deepEqual(chat.texts, [["user", "slow but sure wins"], ["assistant", "Turn 1: slow but sure wins"]]);
  await back.resumeStream(); // nothing is owed any more
  assert.equal(back.messages.length, 2);
});

async function settledText(chat, pattern) {
  const deadline = Date.now() + 20_000;
  while (!pattern.test(chat.texts.at(-1)?.[1] ?? "") || chat.texts.at(-1)[0] !== "assistant") {
    if (Date.now() > deadline) throw new Error(`it says ${JSON.stringify(chat.texts)}`);
    await new Promise((done) => setTimeout(done, 10));
  }
}

it("goes on without its page, and stops when it is told", async () => {
  const letGo = ours.hold();
  const chat = new Chat("stop");
  void chat.sendMessage({ text: "slow to stop now" });
  await settledText(chat, /to stop/);
  await chat.stop();
  const headers = { authorization: `Bearer ${ours.key}` };
  assert.equal((await fetch(`${ours.url}/ai-sdk/chat/stop/stream`, { method: "DELETE", headers })).status, 204);
  letGo();
  await eventuallyNothing("stop", headers);
});

async function eventuallyNothing(id, headers) {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const response = await fetch(`${ours.url}/ai-sdk/chat/${id}/stream`, { headers });
    await response.text();
    if (response.status === 204) return;
    if (Date.now() > deadline) throw new Error("it goes on");
  }
}

it("says what is wrong in words", async () => {
  const stranger = new Chat("wrong", { key: "cak_wrong" });
  await stranger.sendMessage({ text: "hello" });
  assert.equal(JSON.parse(stranger.error.message).message, "This app key is not known here: it was mistyped, or ended long ago.");
  assert.equal(stranger.error.statusCode, 401);
});

for (const how of ["resumes", "is asked again"]) {
  it(`loses and doubles nothing when the server dies and it ${how}`, async () => {
    const chat = new Chat(`kill ${how}`);
    const letGo = ours.hold();
    const broken = chat.sendMessage({ text: "slow and steady wins" });
    await settledText(chat, /steady/);
    await ours.world.kill();
    await broken;
    await ours.world.run();
    letGo();
    if (how === "resumes") await chat.resumeStream();
    else await chat.regenerate();
    assert.deepEqual(chat.texts, [["user", "slow and steady wins"], ["assistant", "Turn 1: slow and steady wins"]]);
    await chat.sendMessage({ text: "and now" });
    assert.equal(chat.texts.at(-1)[1], "Turn 2: and now");
  });
}
