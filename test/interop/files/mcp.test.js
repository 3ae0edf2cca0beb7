// The official TypeScript SDK's client works with the file store's tools.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { castalia, World } from "../world.mjs";

let world;
before(async () => (world = await World.start()));
after(() => world?.stop());

/** A client that shows a token, closed when the test ends. */
async function agent(t, ...token) {
  const headers = { authorization: `Bearer ${await world.token(...token)}` };
  const client = new Client({ name: "castalia-interop", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${world.url}/mcp`), { requestInit: { headers } }));
  t.after(() => client.close());
  return client;
}

async function names(client) {
  return (await client.listTools()).tools.map((tool) => tool.name).sort();
}

/** Calls a tool that must succeed and returns its text. */
async function call(client, name, args) {
  const result = await client.callTool({ name, arguments: args });
  const text = result.content.map((part) => part.text).join("");
  assert.ok(!result.isError, `${name}: ${text}`);
  return text;
}

async function cidOf(text) {
  return (await castalia(["cid"], text)).split(/\s+/)[0];
}

describe("agents", () => {
  it("write, read and list files by CID", async (t) => {
    const client = await agent(t);
    const text = "one\ntwo\nthree\n";
    const cid = await cidOf(text);
    // The SDK checks structured results against the tools' output schemas once it has the list.
    const tools = await names(client);
    for (const name of ["vfs_write", "vfs_read", "vfs_edit", "vfs_list_cids", "vfs_read_cid"]) assert.ok(tools.includes(name), name);

    assert.match(await call(client, "vfs_write", { path: "/notes/a.md", content: text }), new RegExp(cid));
    assert.match(await call(client, "vfs_read", { path: "/notes/a.md" }), /1\tone\n\s+2\ttwo\n\s+3\tthree/);
    assert.equal(await call(client, "vfs_read_cid", { cid }), await call(client, "vfs_read", { path: "/notes/a.md" }));
    assert.equal(await call(client, "vfs_list_cids", {}), `${cid} /notes/a.md (${text.length})\n`);

    await call(client, "vfs_edit", { path: "/notes/a.md", oldString: "two", newString: "2" });
    const { headers, body } = await world.read("/notes/a.md");
    assert.equal(body.toString(), "one\n2\nthree\n");
    assert.equal(headers.get("x-vfs-cid"), await cidOf(body));
    assert.equal(headers.get("x-vfs-version"), "2");
  });

  it("are told what went wrong, as a result that a model can read", async (t) => {
    const client = await agent(t);
    await call(client, "vfs_write", { path: "/there", content: "x" });
    const result = await client.callTool({ name: "vfs_write", arguments: { path: "/there", content: "y" } });
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /already exists/);
  });

  it("see the tools that their token can use", async (t) => {
    const reader = await names(await agent(t, "fs/read"));
    assert.ok(reader.includes("vfs_read") && !reader.includes("vfs_write") && !reader.includes("vfs_delete"), reader.join());
    const [open, secret] = ["for the agent", "not for the agent"];
    const owner = await agent(t);
    await call(owner, "vfs_write", { path: "/open", content: open });
    await call(owner, "vfs_write", { path: "/secret", content: secret });
    const cid = await cidOf(open);
    const scoped = await agent(t, "fs/read", "--nb", JSON.stringify({ cids: [cid] }));
    assert.deepEqual(await names(scoped), ["vfs_list_cids", "vfs_read_cid"]);
    assert.equal(await call(scoped, "vfs_list_cids", {}), `${cid} /open (${open.length})\n`);
    assert.match(await call(scoped, "vfs_read_cid", { cid }), /for the agent/);
    const refused = await scoped.callTool({ name: "vfs_read_cid", arguments: { cid: await cidOf(secret) } });
    assert.equal(refused.isError, true);
    assert.ok(!JSON.stringify(refused).includes(secret));
    await assert.rejects(scoped.callTool({ name: "vfs_read", arguments: { path: "/secret" } }));
  });

  it("find files as resources", async (t) => {
    const client = await agent(t);
    await call(client, "vfs_write", { path: "/res/b.txt", content: "resource" });
    const { resources } = await client.listResources();
    const found = resources.find(({ uri }) => uri.endsWith("/res/b.txt"));
    assert.ok(found, JSON.stringify(resources));
    const { contents } = await client.readResource({ uri: found.uri });
    assert.equal(contents[0].text, "resource");
  });

  it("are refused without a token", async () => {
    const client = new Client({ name: "castalia-interop", version: "1.0.0" });
    await assert.rejects(client.connect(new StreamableHTTPClientTransport(new URL(`${world.url}/mcp`))), /401/);
  });
});
