// AG-UI's own clients against /ag-ui: the released one, and the one that CopilotKit pins, which ends at an event that it does not know.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { HttpAgent } from "@ag-ui/client";
import { EventSchema } from "@ag-ui/core/schemas";
import { HttpAgent as HttpAgent0 } from "ag-ui-client-0";
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

const weather = { name: "get_weather", description: "The weather of a place.", parameters: { type: "object", properties: { place: { type: "string" } } } };

/** Reads a body beside the client, and holds every event to the schemas of the protocol. */
function judged(events) {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (!response.ok) return response;
    let rest = "";
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    const body = new ReadableStream({
      async pull(out) {
        try {
          const { done, value } = await reader.read();
          if (done) return out.close();
          const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
          rest = lines.pop();
          for (const line of lines) if (line.startsWith("data: ")) events.push(JSON.parse(line.slice(6)));
          out.enqueue(value);
        } catch {
          out.close(); // as proxies do; of a body that breaks the clients leave a promise that nobody awaits, at which node:test ends
        }
      },
    });
    return new Response(body, { status: response.status, headers: response.headers });
  };
}

function check(events) {
  assert.equal(events[0].type, "RUN_STARTED");
  assert.match(events.at(-1).type, /^RUN_(FINISHED|ERROR)$/);
  for (const event of events) assert.ok(EventSchema.safeParse(event).success, JSON.stringify([event, EventSchema.safeParse(event).error]));
}

for (const [version, Agent] of [["1.0.0", HttpAgent], ["0.0.59", HttpAgent0]]) {
  describe(`@ag-ui/client ${version}`, () => {
    const talk = (threadId, key = ours.key) => {
      const events = [];
      const agent = new Agent({ url: `${ours.url}/ag-ui`, threadId: `${threadId} ${version}`, headers: { authorization: `Bearer ${key}` }, fetch: judged(events) });
      let ids = 0;
      return {
        agent,
        events,
        say: (content) => agent.addMessage({ id: `${threadId}-${ids++}`, role: "user", content }),
        async run(parameters, subscriber) {
          events.length = 0;
          const result = await agent.runAgent(parameters, subscriber);
          await new Promise((done) => setImmediate(done));
          check(events);
          return result;
        },
        texts: () => agent.messages.filter(({ role, content }) => role === "assistant" && content).map(({ content }) => content),
      };
    };

    it("answers, and keeps the conversation", async () => {
      const chat = talk("talk");
      chat.say("hello");
      const { newMessages } = await chat.run();
      assert.deepEqual(newMessages.map(({ role, content }) => [role, content]), [["assistant", "Turn 1: hello"]]);
      chat.say("again");
      await chat.run({ context: [{ description: "The page", value: "bees.html" }] });
      assert.deepEqual(chat.texts(), ["Turn 1: hello", "Turn 2: again"]);
      assert.match(JSON.stringify(ours.model.asked.at(-1)), /bees\.html/);
      assert.ok(chat.events.at(-1).usage[0].totalTokens >= 0);
    });

    it("shows the model the page's state, and says which it has seen", async () => {
      const chat = talk("state");
      chat.agent.setState({ flowers: 7 });
      chat.say("hello");
      await chat.run();
      assert.deepEqual(chat.agent.state, { flowers: 7 });
      assert.deepEqual(chat.events[1], { type: "STATE_SNAPSHOT", snapshot: { flowers: 7 } });
      assert.match(JSON.stringify(ours.model.asked.at(-1)), /flowers/);
    });

    it("gives the page its calls, and takes their results", async () => {
      const chat = talk("tools");
      chat.say("How is the weather?");
      await chat.run({ tools: [weather] });
      const [call] = chat.agent.messages.at(-1).toolCalls;
      assert.deepEqual([call.function.name, call.function.arguments], ["get_weather", '{"place":"Riga"}']);
      chat.agent.addMessage({ id: "result", role: "tool", toolCallId: call.id, content: "sunny" });
      await chat.run({ tools: [weather] });
      assert.deepEqual(chat.texts(), ["It is sunny."]);
    });

    for (const approved of [true, false]) {
      it(`asks before it acts, and ${approved ? "does" : "does not do"} it`, async () => {
        const chat = talk(`approve ${approved}`, await ours.token());
        chat.say(`send ${version} ${approved}`);
        let interrupts;
        await chat.run({}, { onRunFinishedEvent: ({ event }) => void (interrupts = event.outcome.interrupts) });
        assert.equal(interrupts.length, 1);
        const waits = chat.agent.messages.flatMap(({ toolCalls }) => toolCalls ?? []).find(({ id }) => id === interrupts[0].toolCallId);
        assert.deepEqual([waits.function.name, JSON.parse(waits.function.arguments)], ["post__send", { text: `${version} ${approved}` }]);
        assert.ok(Date.parse(interrupts[0].expiresAt) > Date.now());
        assert.ok(!post.sent.includes(`${version} ${approved}`));
        const resume = [{ interruptId: interrupts[0].id, status: "resolved", payload: { approved } }];
        await chat.run({ resume });
        assert.equal(post.sent.filter((text) => text === `${version} ${approved}`).length, approved ? 1 : 0);
        const [answer] = chat.texts();
        assert.match(answer, approved ? /^I did: sent/ : /^I did: .*not approve/);
        const calls = chat.agent.messages.flatMap(({ toolCalls }) => toolCalls ?? []).map(({ id }) => id);
        assert.equal(new Set(calls).size, calls.length);
        for (const call of calls) assert.equal(chat.agent.messages.filter(({ toolCallId }) => toolCallId === call).length, 1, call);
      });
    }

    it("lets an app key deny, but not approve", async () => {
      const chat = talk("key");
      chat.say(`send key ${version}`);
      let interrupts;
      await chat.run({}, { onRunFinishedEvent: ({ event }) => void (interrupts = event.outcome.interrupts) });
      const answer = (status, payload) => chat.agent.runAgent({ resume: [{ interruptId: interrupts[0].id, status, payload }] });
      await assert.rejects(answer("resolved", { approved: true }), (error) => {
        assert.deepEqual([error.status, error.payload.type, error.payload.code], [403, "RUN_ERROR", "approval_needs_person"]);
        assert.ok(EventSchema.safeParse(error.payload).success);
        return true;
      });
      await answer("cancelled");
      assert.match(chat.texts().at(-1), /^I did: .*not approve/);
      assert.ok(!post.sent.includes(`key ${version}`));
    });

    it("replays a run that it knows", async () => {
      const chat = talk("replay");
      chat.say("hello");
      await chat.run({ runId: "r1" });
      const first = chat.events.filter(({ type }) => type.startsWith("TEXT_"));
      const asked = ours.model.asked.length;
      await chat.run({ runId: "r1" });
      assert.equal(chat.events.filter(({ type }) => type === "TEXT_MESSAGE_CONTENT").map(({ delta }) => delta).join(""), "Turn 1: hello");
      assert.equal(chat.events.find(({ type }) => type === "TEXT_MESSAGE_START").messageId, first[0].messageId);
      assert.deepEqual(chat.texts(), ["Turn 1: hello"]);
      assert.equal(ours.model.asked.length, asked);
    });

    it("says what is wrong in the protocol's words", async () => {
      const chat = talk("wrong", "cak_wrong");
      chat.say("hello");
      await assert.rejects(chat.agent.runAgent(), (error) => {
        assert.deepEqual([error.status, error.payload.type], [401, "RUN_ERROR"]);
        return true;
      });
      const empty = talk("empty");
      await assert.rejects(empty.agent.runAgent(), (error) => error.status === 400);
    });

    for (const runId of [undefined, "r1"]) {
      it(`loses and doubles nothing when the server dies${runId ? ", with a run that has a name" : ""}`, async () => {
        const chat = talk(`kill ${runId}`);
        chat.say("slow and steady wins");
        const letGo = ours.hold();
        let seen;
        const enough = new Promise((done) => (seen = done));
        const broken = chat.agent.runAgent({ runId }, { onTextMessageContentEvent: ({ event }) => void (event.delta.includes("steady") && seen()) });
        await Promise.all([
          broken,
          enough.then(async () => {
            await ours.world.kill();
            await ours.world.run();
          }),
        ]);
        letGo();
        await chat.run({ runId });
        assert.deepEqual(chat.texts(), ["Turn 1: slow and steady wins"]);
        chat.say("and now");
        await chat.run();
        assert.equal(chat.texts().at(-1), "Turn 2: and now");
      });
    }
  });
}
