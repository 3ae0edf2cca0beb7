// OpenAI's own client against /v1/responses.
import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import OpenAI from "openai";
import { start } from "./world.js";

let ours;
let client;
before(async () => {
  ours = await start();
  client = new OpenAI({ baseURL: `${ours.url}/v1`, apiKey: ours.key });
});
after(() => ours?.stop());

it("continues an earlier response", async () => {
  const first = await client.responses.create({ model: "oracle", input: "one" });
  assert.deepEqual([first.output_text, first.status], ["Turn 1: one", "completed"]);
  const second = await client.responses.create({ model: "oracle", input: "two", previous_response_id: first.id });
  assert.equal(second.output_text, "Turn 2: two");
  assert.equal((await ours.sessions()).length, 0);
});

it("streams events that the client puts together", async () => {
  const stream = client.responses.stream({ model: "oracle", input: "a few words" });
  let text = "";
  stream.on("response.output_text.delta", ({ delta }) => (text += delta));
  assert.equal((await stream.finalResponse()).output_text, "Turn 1: a few words");
  assert.equal(text, "Turn 1: a few words");
});

it("gives the caller its calls, and takes their results", async () => {
  const tools = [{ type: "function", name: "get_weather", strict: false, parameters: { type: "object", properties: { place: { type: "string" } } } }];
  const first = await client.responses.stream({ model: "oracle", input: "How is the weather?", tools }).finalResponse();
  const [call] = first.output;
  assert.deepEqual([call.type, call.name, call.arguments], ["function_call", "get_weather", '{"place":"Riga"}']);
  const input = [{ type: "function_call_output", call_id: call.call_id, output: "sunny" }];
  const second = await client.responses.create({ model: "oracle", previous_response_id: first.id, input, tools });
  assert.equal(second.output_text, "It is sunny.");
});

it("says when an earlier response is not there", async () => {
  await assert.rejects(client.responses.create({ model: "oracle", input: "x", previous_response_id: "resp_none" }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.code, "previous_response_not_found");
    return true;
  });
});
