// OpenAI's own client, and the AI SDK's provider for those who speak like OpenAI, against /v1.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import { eventually } from "../world.mjs";
import { start } from "./world.js";

let ours;
let client;

before(async () => {
  ours = await start();
  client = new OpenAI({ baseURL: `${ours.url}/v1`, apiKey: ours.key });
});
after(() => ours?.stop());

const parameters = { type: "object", properties: { place: { type: "string" } }, required: ["place"] };
const tools = [{ type: "function", function: { name: "get_weather", description: "The weather of a place.", parameters } }];

describe("openai", () => {
  it("lists models", async () => {
    const names = [];
    for await (const model of client.models.list()) names.push(model.id);
    assert.deepEqual(names, ["oracle", "oracle-small"]);
    assert.equal((await client.models.retrieve("oracle")).object, "model");
  });

  it("gets a whole answer", async () => {
    const answer = await client.chat.completions.create({
      model: "oracle",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "one" },
        { role: "assistant", content: "Turn 1: one" },
        { role: "user", content: "two" },
      ],
    });
    assert.equal(answer.choices[0].message.content, "Turn 2: two");
    assert.equal(answer.choices[0].finish_reason, "stop");
    assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);
    assert.equal((await ours.sessions()).length, 0);
  });

  it("streams", async () => {
    const stream = await client.chat.completions.create({
      model: "oracle",
      messages: [{ role: "user", content: "a few words" }],
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    let usage;
    let finish;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      finish = chunk.choices[0]?.finish_reason ?? finish;
      usage = chunk.usage ?? usage;
    }
    assert.deepEqual([text, finish], ["Turn 1: a few words", "stop"]);
    assert.ok(usage.total_tokens >= 0);
  });

  it("gives the caller its calls, and takes their results", async () => {
    const runner = client.chat.completions.runTools({
      model: "oracle",
      stream: true,
      messages: [{ role: "user", content: "How is the weather?" }],
      tools: [{ type: "function", function: { name: "get_weather", description: "", parameters, parse: JSON.parse, function: ({ place }) => `sunny in ${place}` } }],
    });
    assert.equal(await runner.finalContent(), "It is sunny in Riga.");
  });

  it("keeps a conversation that has a name", async () => {
    const options = { headers: { "X-Conversation-Id": "chat-7" } };
    const say = (content) => client.chat.completions.create({ model: "oracle", messages: [{ role: "user", content }] }, options);
    await say("hello");
    assert.equal((await say("again")).choices[0].message.content, "Turn 2: again");
    assert.equal((await ours.sessions()).length, 1);
  });

  it("does small tasks beside it", async () => {
    const spent = async () => (await (await fetch(`${ours.url}/v1/key`, { headers: { authorization: `Bearer ${ours.key}` } })).json()).spent.tokens;
    const before = await spent();
    const answer = await client.chat.completions.create(
      { model: "oracle-small", messages: [{ role: "user", content: "tags, please" }], tools, max_completion_tokens: 1000 },
      { headers: { "X-OpenWebUI-Chat-Id": "chat-8" } },
    );
    assert.equal(answer.choices[0].message.content, "Turn 1: tags, please");
    assert.equal((await ours.sessions()).length, 1);
    await eventually(() => "the budget of the key has it", async () => (await spent()) > before);
  });

  it("says what is wrong in its own words", async () => {
    await assert.rejects(client.chat.completions.create({ model: "gpt-9", messages: [{ role: "user", content: "x" }] }), (error) => {
      assert.ok(error instanceof OpenAI.NotFoundError);
      assert.deepEqual([error.code, error.param, error.type], ["model_not_found", "model", "invalid_request_error"]);
      return true;
    });
    await assert.rejects(client.chat.completions.create({ model: "oracle", messages: [] }), OpenAI.BadRequestError);
    const stranger = new OpenAI({ baseURL: `${ours.url}/v1`, apiKey: "sk-wrong" });
    await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError);
  });

  it("may be part of a page of another origin", async () => {
    const sent = new Set();
    const spying = new OpenAI({
      baseURL: `${ours.url}/v1`,
      apiKey: ours.key,
      organization: "of-ours",
      project: "garden",
      fetch(url, init) {
        for (const name of new Headers(init.headers).keys()) sent.add(name);
        return fetch(url, init);
      },
    });
    const options = { timeout: 60_000, headers: { "X-Conversation-Id": "chat-9" } };
    await spying.chat.completions.stream({ model: "oracle", messages: [{ role: "user", content: "one" }] }, options).finalContent();
    await spying.responses.stream({ model: "oracle", input: "two" }).finalResponse();
    const headers = { origin: "https://page.example", "access-control-request-method": "POST" };
    const preflight = await fetch(`${ours.url}/v1/chat/completions`, { method: "OPTIONS", headers });
    const allowed = preflight.headers.get("access-control-allow-headers").toLowerCase().split(",");
    assert.deepEqual([...sent].filter((name) => name !== "accept" && !allowed.includes(name)), []);
    assert.ok(sent.has("x-stainless-lang") && sent.has("openai-project"));
  });

  it("stops when it is aborted", async () => {
    const stop = new AbortController();
    const stream = await client.chat.completions.create(
      { model: "oracle", messages: [{ role: "user", content: "many words to say" }], stream: true },
      { signal: stop.signal },
    );
    stop.abort();
    for await (const _ of stream); // ends by itself
  });
});

describe("openai and a server that dies", () => {
  // Neither wire can resume: the program asks again, and gets the answer that was begun.
  const wires = {
    "/v1/chat/completions": async function* () {
      const messages = [{ role: "user", content: "slow and steady wins" }];
      for await (const { choices } of await client.chat.completions.create({ model: "oracle", messages, stream: true })) yield choices[0]?.delta.content ?? "";
    },
    "/v1/responses": async function* () {
      const stream = await client.responses.create({ model: "oracle", input: "slow and steady, says /v1/responses", stream: true });
      for await (const event of stream) if (event.type === "response.output_text.delta") yield event.delta;
    },
  };
  for (const [wire, say] of Object.entries(wires))
    it(`lose and double nothing by ${wire}`, async () => {
      const letGo = ours.hold();
      let text = "";
      await assert.rejects(async () => {
        for await (const piece of say()) {
          text += piece;
          if (text.includes("steady") && ours.world.alive) await ours.world.kill();
        }
      });
      const asked = ours.model.asked.length;
      await ours.world.run();
      letGo();
      text = "";
      for await (const piece of say()) text += piece;
      assert.match(text, /^Turn 1: slow and steady,? (wins|says \/v1\/responses)$/);
      assert.equal(ours.model.asked.length, asked + 1); // the node that took the run over asked again, and nobody else
    });
});

describe("the AI SDK", () => {
  const model = () => createOpenAICompatible({ name: "castalia", baseURL: `${ours.url}/v1`, apiKey: ours.key, includeUsage: true })("oracle");

  it("streams text", async () => {
    const { textStream, usage } = streamText({ model: model(), prompt: "hello there" });
    let text = "";
    for await (const part of textStream) text += part;
    assert.equal(text, "Turn 1: hello there");
    assert.ok((await usage).totalTokens >= 0);
  });

  it("runs its tools", async () => {
    const { text, steps } = await generateText({
      model: model(),
      prompt: "How is the weather?",
      stopWhen: stepCountIs(3),
      tools: { get_weather: tool({ description: "The weather.", inputSchema: jsonSchema(parameters), execute: async ({ place }) => `rainy in ${place}` }) },
    });
    assert.equal(text, "It is rainy in Riga.");
    assert.equal(steps.length, 2);
  });
});
