// The official TypeScript client of MCP's current revision, and by its older handshake, with the oracle at /mcp.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { eventually } from "../world.mjs";
import { Post } from "./post.js";
import { start } from "./world.js";

const openings = "---\nopenings:\n  - title: Hours\n    text: When is the mill open?\n  - What does maize cost?\n---\nYou help millers.\n";

let ours;
let post;
before(async () => {
  post = await Post.start();
  ours = await start({ ...post.env, ORACLE_INSTRUCTIONS: openings });
});
after(async () => {
  await ours?.stop();
  post?.stop();
});

/** A client of one revision that shows a credential, closed when the test ends; decide answers what it is asked by forms. */
async function agent(t, mode, credential = ours.key, decide) {
  const capabilities = decide && { elicitation: { form: {} } };
  const client = new Client({ name: "castalia-interop", version: "1.0.0" }, { versionNegotiation: { mode }, capabilities });
  if (decide) client.setRequestHandler("elicitation/create", decide);
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

    for (const decision of ["approve", "deny"])
      it(`are asked before the oracle acts: ${decision}`, async (t) => {
        const text = `${decision} ${revision}`;
        const asked = [];
        const client = await agent(t, mode, await ours.token(), ({ params }) => {
          asked.push(params);
          assert.ok(!post.sent.includes(text));
          return { action: "accept", content: { decision } };
        });
        const { content, structuredContent } = await client.callTool({ name: "ask_oracle", arguments: { question: `send ${text}` } });
        assert.equal(asked.length, 1);
        assert.match(asked[0].message, new RegExp(`post__send.*${text}`));
        assert.deepEqual(asked[0].requestedSchema.properties.decision.enum, ["approve", "deny"]);
        assert.equal(post.sent.filter((one) => one === text).length, decision === "approve" ? 1 : 0);
        assert.match(content[0].text, decision === "approve" ? /^I did: sent/ : /^I did: .*not approve/);
        assert.equal(structuredContent.status, "done");
      });

    it("get the answer by its run when the server dies", async (t) => {
      const letGo = ours.hold();
      const question = `slow and steady, says ${revision}`;
      const sessionId = await ours.session();
      let runId;
      const before = ours.model.asked.length;
      const client = await agent(t, mode);
      const gone = new AbortController();
      const lost = assert.rejects(
        client.callTool({ name: "ask_oracle", arguments: { question, sessionId } }, { onprogress: ({ _meta }) => void (runId ??= _meta.runId), signal: gone.signal }),
      );
      await eventually(() => "the oracle is answering", () => runId && ours.model.asked.length > before);
      await ours.world.kill();
      gone.abort();
      await lost;
      await ours.world.run();
      letGo();
      const back = await agent(t, mode);
      let answer;
      do answer = await back.callTool({ name: "get_answer", arguments: { runId } });
      while (answer.structuredContent.status === "working");
      assert.equal(answer.content[0].text, `Turn 1: ${question}`);
      const { contents } = await back.readResource({ uri: `oracle://sessions/${sessionId}` });
      assert.equal(contents[0].text.match(/slow and steady/g).length, 2); // the question, and the answer
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
