// The official TypeScript client of MCP where the oracle asks for an approval, and where its server dies.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { eventually } from "../world.mjs";
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
  });
