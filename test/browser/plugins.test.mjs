// What plugins show in the console: the link of a team's chat, and components
// that the agent draws.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { startModel } from "./model.mjs";
import { answered, check, say, visitors } from "./visitor.mjs";
import { eventually, startBrowser, startProgram } from "./world.mjs";

const secret = "8f742231b10e8888abcd99yyyzzz85a5";
const world = {};
let program;
before(async () => {
  [world.model, world.chat, world.browser] = await Promise.all([startModel(), startChat(), startBrowser()]);
  program = await startProgram({
    MODEL_PROVIDER: "openai",
    OPENAI_BASE_URL: world.model.url,
    OPENAI_API_KEY: "x",
    MODEL: "small",
    SLACK_SIGNING_SECRET: secret,
    SLACK_BOT_TOKEN: "xoxb-test",
    SLACK_API_URL: world.chat.url,
  });
  world.url = program.url;
});
after(async () => {
  await world.browser?.close();
  await program?.stop();
  await world.model?.stop();
  await world.chat?.stop();
});

/** A double of the team chat's Web API, which keeps what is posted. */
async function startChat() {
  const posts = [];
  const server = createServer((request, reply) => {
    let text = "";
    request.on("data", (part) => (text += part));
    request.on("end", () => {
      if (request.url.includes("chat.post")) posts.push(JSON.parse(text));
      const user = request.url.includes("users.info") ? { user: { real_name: "Ada L." } } : {};
      reply.setHeader("Content-Type", "application/json");
      reply.end(JSON.stringify({ ok: true, ...user }));
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}/api`,
    posts,
    stop: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(done);
      }),
  };
}

/** A member of the team mentions the oracle. */
async function mention(id, user, channel, text) {
  const event = { type: "app_mention", user, channel, ts: "100.1", text: `<@UBOT> ${text}` };
  const body = JSON.stringify({ type: "event_callback", team_id: "T1", event_id: id, event });
  const stamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac("sha256", secret).update(`v0:${stamp}:${body}`).digest("hex");
  const reply = await fetch(`${world.url}/teamchat/slack/events`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": `v0=${signature}` },
    body,
  });
  assert.equal(reply.status, 200);
}

/** The address that the oracle sent to somebody whom it does not know. */
async function invitation(user, channel) {
  const post = await eventually("the oracle asks who that is", () => world.chat.posts.find((p) => p.user === user && p.channel === channel));
  const link = /(http\S+\/console\/)(link#[A-Z2-7]+) /.exec(post.text);
  assert.ok(link, post.text);
  assert.equal(link[1], `${world.url}/console/`);
  return link[2];
}

test("a link from the team's chat makes its member the person in this browser, once", async () => {
  const { newcomer, stranger } = visitors(world);
  await mention("Ev1", "U1", "C1", "good morning");
  const link = await invitation("U1", "C1");
  // Somebody who comes for the first time makes a key on the way.
  const { page, visit, close } = await stranger();
  await visit(link);
  await page.getByRole("button", { name: "Make a key and enter" }).click();
  await page.getByRole("heading", { name: "Link your team chat" }).waitFor();
  await page.getByText("Ada L. (U1)").waitFor();
  await page.getByText(/of team T1 will speak to the oracle as you/).waitFor();
  assert.ok(!page.url().includes("#"), "the code stays in the address");
  const did = (await page.locator(".facts .mono").textContent()).trim();
  assert.match(did, /^did:key:z6Mk/);
  await check(page, "the link page");
  await page.setViewportSize({ width: 360, height: 740 });
  await check(page, "the link page on a telephone");
  assert.ok(!world.chat.posts.some((p) => p.text === "You said: good morning"), "the message was answered before the link");
  await page.getByRole("button", { name: "That is me, link it" }).click();
  await page.getByRole("status").getByText("Ada L. (U1) is linked.").waitFor();
  // The message that waited is answered, and everything after it as that person.
  await eventually("the message that waited is answered", () => world.chat.posts.some((p) => p.channel === "C1" && p.text === "You said: good morning"));
  await mention("Ev2", "U1", "C1", "whoami");
  await eventually("the oracle knows who it is", () => world.chat.posts.some((p) => p.channel === "C1" && p.text.includes(did)));
  await close();
  // The code worked once.
  const late = await newcomer();
  await late.visit(link);
  await late.page.getByRole("alert").getByText("This link does not work, or not any more: ask for a new one in the chat").waitFor();
  assert.equal(await late.page.getByRole("button", { name: "That is me, link it" }).count(), 0);
  await check(late.page, "the link page with a used code");
  await late.close(["404"]);
});

test("whoever opens the link page without a code is told what to do", async () => {
  const { page, visit, close } = await visitors(world).newcomer();
  await visit("link");
  await page.getByRole("alert").getByText("it sends you a link that opens this page").waitFor();
  await check(page, "the link page without a code");
  await close();
});

test("the agent draws a component of the console, also after a reload", async () => {
  const { page, close } = await visitors(world).newcomer();
  const chart = { title: "Rain at the spring", labels: ["May", "June"], values: [3, 5] };
  await say(page, `call show_component ${JSON.stringify({ name: "Chart", args: chart })}`);
  await page.locator("article.castalia-message.ai").getByText("The tool said: The page shows Chart.").waitFor();
  const drawn = page.getByRole("img", { name: "Rain at the spring: May 3, June 5" });
  await drawn.waitFor();
  await page.getByRole("button", { name: "Stop the answer" }).waitFor({ state: "hidden" });
  await page.reload();
  await drawn.waitFor();
  await close();
});

test("an entity of the chain is shown as a card, which leads to the query", async () => {
  const { page, close } = await visitors(world).newcomer({ reducedMotion: "reduce" });
  const { entities } = await (await fetch(`${world.url}/ixo/entity`)).json();
  const { id } = entities.find((e) => e.type === "oracle");
  await say(page, 'call load_capability {"name":"query"}');
  await answered(page, "The tool said");
  await say(page, `call get_entity ${JSON.stringify({ id })}`);
  const card = page.getByRole("region", { name: "Entity Castalia" });
  const shown = async () => {
    for (const text of ["verified", id, "oracleService", "since Jan 1, 2026"]) await card.getByText(text, { exact: true }).waitFor();
    assert.equal(await card.count(), 1);
  };
  await shown();
  await answered(page, "The tool said");
  await card.getByText("3 linked resources").click();
  await card.getByText("What a message costs").waitFor();
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const width of [360, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      await check(page, `the entity, ${colorScheme}, at ${width} pixels`);
    }
  }
  await page.reload();
  await shown();
  await card.getByRole("link", { name: "Open in Query" }).click();
  await page.getByRole("heading", { name: "Query", exact: true }).waitFor();
  assert.equal(await page.getByLabel("id", { exact: true }).inputValue(), id);
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByRole("region", { name: "Reply" }).getByText('"alsoKnownAs": "Castalia"').waitFor();
  await close();
});
