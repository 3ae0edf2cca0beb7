// The official TypeScript client of MCP's current revision, and by its older handshake, with the oracle at /mcp.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { start } from "./world.js";

const openings = "---\nopenings:\n  - title: Hours\n    text: When is the mill open?\n  - What does maize cost?\n---\nYou help millers.\n";

let ours;
before(async () => (ours = await start({ ORACLE_INSTRUCTIONS: openings })));
after(() => ours?.stop());

/** A client of one revision that shows a credential, closed when the test ends. */
async function agent(t, mode, credential = ours.key) {
  const client = new Client({ name: "castalia-interop", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${ours.url}/mcp`), { requestInit: { headers: { authorization: `Bearer ${credential}` } } }));
  t.after(() => client.close());
  return client;
}

for (const [revision, mode] of [["2026-07-28", { pin: "2026-07-28" }], ["2025-11-25", "legacy"]])
  describe(`agents of ${revision}`, () => {
    it("agree on it", async (t) => {
      assert.equal((await agent(t, mode)).getNegotiatedProtocolVersion(), revision);
    });

    it("find the operator's openings as prompts", async (t) => {
      const client = await agent(t, mode);
      const { prompts } = await client.listPrompts();
      assert.deepEqual(prompts.map(({ name, title }) => [name, title]), [["opening-1", "Hours"], ["opening-2", "What does maize cost?"]]);
      const { messages } = await client.getPrompt({ name: "opening-1" });
      assert.match(messages[0].content.text, /When is the mill open\?/);
      for (const name of ["opening-3", "none"]) await assert.rejects(client.getPrompt({ name }), { code: -32602 }, name);
    });

    it("ask, read the transcript and complete its address", async (t) => {
      const client = await agent(t, mode);
      const { tools } = await client.listTools(); // from here on results are held to the tools' schemas
      for (const name of ["ask_oracle", "get_answer"]) assert.ok(tools.some((tool) => tool.name === name), name);
      const sessionId = await ours.session();
      const asked = await client.callTool({ name: "ask_oracle", arguments: { question: "are you there", sessionId } });
      assert.equal(asked.content[0].text, "Turn 1: are you there");
      const { runId } = asked.structuredContent;
      const again = await client.callTool({ name: "get_answer", arguments: { runId } });
      assert.equal(again.content[0].text, "Turn 1: are you there");

      const { resourceTemplates } = await client.listResourceTemplates();
      const uri = resourceTemplates.find(({ name }) => name === "session").uriTemplate;
      const { completion } = await client.complete({ ref: { type: "ref/resource", uri }, argument: { name: "sessionId", value: sessionId.slice(0, 6) } });
      assert.ok(completion.values.includes(sessionId), JSON.stringify(completion));
      const prompt = await client.complete({ ref: { type: "ref/prompt", name: "opening-1" }, argument: { name: "any", value: "" } });
      assert.deepEqual(prompt.completion.values, []);

      const { resources } = await client.listResources();
      const found = resources.find(({ name }) => name === sessionId);
      assert.ok(found, JSON.stringify(resources));
      const { contents } = await client.readResource({ uri: found.uri });
      assert.match(contents[0].text, /are you there[\s\S]*Turn 1: are you there/);
      await assert.rejects(client.readResource({ uri: "oracle://sessions/none" }), /not found/i);
    });

    it("are told that there is no logging", async (t) => {
      const client = await agent(t, mode);
      assert.equal(client.getServerCapabilities().logging, undefined);
      await assert.rejects(client.setLoggingLevel("debug"));
      assert.equal((await client.listPrompts()).prompts.length, 2);
    });

    it("find files as resources", async (t) => {
      const client = await agent(t, mode, await ours.world.token());
      const written = await client.callTool({ name: "vfs_write", arguments: { path: `/of/${revision}.txt`, content: "a resource" } });
      assert.ok(!written.isError, JSON.stringify(written));
      const { resources } = await client.listResources();
      const found = resources.find(({ uri }) => uri.endsWith(`/of/${revision}.txt`));
      assert.ok(found, JSON.stringify(resources));
      const { contents } = await client.readResource({ uri: found.uri });
      assert.equal(contents[0].text, "a resource");
      assert.equal(client.getServerCapabilities().prompts, undefined); // it is no token for the oracle
    });
  });
