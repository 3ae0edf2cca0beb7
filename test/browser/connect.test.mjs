// Connect your program: the key that the page makes opens the face, until it is revoked; servers whose tools the
// oracle uses, and addresses that are told of events, are added, tried and removed.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { startPost } from "./mcp.mjs";
import { copied, looksRight, visitors } from "./visitor.mjs";
import { eventually, startBrowser, startProgram } from "./world.mjs";

const world = {};
let program;
before(async () => {
  const env = { MCP_USER_PRIVATE: "true", APPROVE_MCP_TOOLS: "true", WEBHOOKS_ALLOW_PRIVATE: "true" };
  [program, world.browser, world.post] = await Promise.all([startProgram(env), startBrowser(), startPost()]);
  world.url = program.url;
});
after(async () => {
  await world.browser?.close();
  await program?.stop();
  await world.post?.stop();
});

test("a key of the page is filled in, opens the face and is revoked at once", async () => {
  const { page, close } = await visitors(world).newcomer();
  await page.getByRole("link", { name: "Connect" }).click();
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByText("It is shown this once").waitFor();
  await page.getByRole("button", { name: "Copy the key" }).click();
  const key = await copied(page);
  assert.match(key, /^cak_/);
  await page.getByRole("button", { name: "Copy the settings for curl" }).click();
  const curl = await copied(page);
  assert.ok(curl.includes(`${world.url}/v1/chat/completions`) && curl.includes(key), curl);
  const models = () =>
    fetch(`${world.url}/v1/models`, { headers: { Authorization: `Bearer ${key}` } });
  assert.equal((await models()).status, 200);
  await eventually("nothing says that it was copied", async () => (await page.getByText("Copied", { exact: true }).count()) === 0);
  await looksRight(page, "connect");
  await page.getByRole("button", { name: "Revoke my-program" }).click();
  await page.getByRole("button", { name: "Revoke my-program" }).waitFor({ state: "detached" });
  await eventually("the key is refused", async () => (await models()).status === 401);
  await close();
});

test("a server whose tools the oracle uses is added, told of, and removed", async () => {
  const { page, visit, close } = await visitors(world).newcomer();
  await visit("connect/tools");
  await page.getByText("The oracle uses no server for you yet.").waitFor();
  const form = page.getByRole("region", { name: "Add a server" });
  await form.getByLabel("Name").fill("away");
  await form.getByLabel("Address").fill("http://127.0.0.1:1/mcp");
  await form.getByRole("button", { name: "Add" }).click();
  await page.getByRole("region", { name: "away" }).getByText("Not usable now").waitFor();
  await form.getByLabel("Name").fill("post");
  await form.getByLabel("Address").fill(world.post.url);
  await form.getByRole("button", { name: "Add" }).click();
  const post = page.getByRole("region", { name: "post" });
  await post.getByText("Ready").waitFor();
  await post.getByText("2 tools").click();
  await post.getByText("Send a letter.").waitFor();
  assert.equal(await post.getByText("asks you before every call").count(), 2);
  await looksRight(page, "connect-tools");
  await page.getByRole("button", { name: "Remove away" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByRole("region", { name: "away" }).waitFor({ state: "detached" });
  await close();
});

test("a webhook is added, tried, paused and deleted", async () => {
  const heard = [];
  const server = createServer((request, reply) => {
    let text = "";
    request.on("data", (part) => (text += part));
    request.on("end", () => {
      heard.push({ id: request.headers["webhook-id"], signature: request.headers["webhook-signature"], ...JSON.parse(text) });
      reply.writeHead(204).end();
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { page, visit, close } = await visitors(world).newcomer();
  await visit("connect/webhooks");
  const form = page.getByRole("region", { name: "Add a webhook" });
  await form.getByLabel("Address").fill(`http://127.0.0.1:${server.address().port}/hook`);
  await form.getByLabel("What it is for").fill("the archive");
  await form.getByRole("button", { name: "Add" }).click();
  await page.getByRole("alert").getByText("Choose at least one event.").waitFor();
  await form.getByRole("checkbox", { name: /^file\.stored/ }).check();
  await form.getByRole("button", { name: "Add" }).click();
  await page.getByRole("button", { name: "Copy the secret" }).waitFor();
  const card = page.getByRole("region", { name: "the archive" });
  await card.getByText("Not reached yet.").waitFor();
  await card.getByRole("button", { name: "Send a test to the archive" }).click();
  await card.getByText("delivered after 1 attempt").waitFor();
  assert.equal(heard[0].type, "webhook.test");
  assert.match(heard[0].signature, /^v1,/);
  await looksRight(page, "connect-webhooks");
  await card.getByRole("button", { name: /^Send again: webhook\.test/ }).click();
  await eventually("it came again, under its id", () => heard.length === 2 && heard[1].id === heard[0].id);
  await card.getByRole("button", { name: "Pause the archive" }).click();
  await card.getByText("Paused").waitFor();
  await card.getByRole("button", { name: "Delete the archive" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await card.waitFor({ state: "detached" });
  await close(["404"]); // a look at what was sent may be under way when the webhook goes
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});
