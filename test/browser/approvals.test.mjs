// Calls that wait for the person: asked in the conversation, answered there.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startPost } from "./mcp.mjs";
import { startModel } from "./model.mjs";
import { answered, looksRight, say, visitors } from "./visitor.mjs";
import { startBrowser, startProgram } from "./world.mjs";

const world = {};
const hasty = {};
let programs = [];
before(async () => {
  [world.model, world.post, world.browser] = await Promise.all([startModel(), startPost(), startBrowser()]);
  hasty.browser = world.browser;
  const settings = {
    MODEL_PROVIDER: "openai",
    OPENAI_BASE_URL: world.model.url,
    OPENAI_API_KEY: "x",
    MODEL: "small",
    MCP_SERVERS: `post=${world.post.url}`,
    MCP_PRIVATE: "true",
    APPROVE_MCP_TOOLS: "true",
    ORACLE_INSTRUCTIONS: "---\nopenings:\n  - {title: Letters, text: tell me of the letters}\n---\nBe brief.",
  };
  programs = await Promise.all([startProgram(settings), startProgram({ ...settings, APPROVAL_TIMEOUT: "3s" })]);
  [world.url, hasty.url] = programs.map((p) => p.url);
});
after(async () => {
  await world.browser?.close();
  await Promise.all(programs.map((p) => p.stop()));
  await Promise.all([world.model?.stop(), world.post?.stop()]);
});

const asking = (text) => `load mcp-post call post__send ${JSON.stringify({ to: "Amina", text })}`;
const sent = (text) => world.post.letters.filter((letter) => letter.text === text).length;

test("the first screen has what the operator suggests", async () => {
  const { page, close } = await visitors(world).newcomer();
  const list = page.getByRole("list", { name: "Suggestions" });
  await list.getByText("Suggested here").waitFor();
  assert.equal(await list.getByRole("button").count(), 4);
  await list.getByRole("button", { name: /^Letters/ }).click();
  await answered(page, "You said: tell me of the letters");
  await close();
});

test("a call waits for a yes in the conversation, also after a reload", async () => {
  const { page, close } = await visitors(world).newcomer();
  await say(page, asking("the pump is mended"));
  const card = page.getByRole("group", { name: "May the oracle use send?" });
  await card.getByText("the pump is mended").waitFor();
  await card.getByText("Amina").waitFor();
  await page.getByRole("status").getByText("The oracle asks: may it use send?").waitFor();
  assert.equal(sent("the pump is mended"), 0);
  await page.reload();
  await card.getByText("the pump is mended").waitFor();
  await looksRight(page, "approval");
  // By the keyboard alone.
  await card.getByRole("button", { name: "Allow" }).focus();
  await page.keyboard.press("Enter");
  await answered(page, "The tool said: sent the pump is mended");
  await card.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement.id), "message");
  assert.equal(sent("the pump is mended"), 1);
  await page.reload();
  await answered(page, "The tool said: sent the pump is mended");
  assert.equal(await card.count(), 0);
  await close();
});

test("a server asks for what only the person knows, also after a reload", async () => {
  const { page, close } = await visitors(world).newcomer();
  await say(page, "load mcp-post call post__book {}");
  await page.getByRole("group", { name: "May the oracle use book?" }).getByRole("button", { name: "Allow" }).click();
  const form = page.getByRole("form", { name: "post asks you, for book" });
  await form.getByText("Which room do you want?").waitFor();
  await page.reload();
  await form.getByText("What you write goes to post.").waitFor();
  await looksRight(page, "question");
  await form.getByRole("button", { name: "Answer", exact: true }).click(); // the browser wants a room first
  assert.equal(await form.getByLabel("Room").evaluate((field) => field.validity.valueMissing), true);
  await form.getByLabel("Room").selectOption("On the hill");
  await form.getByLabel(/^Nights/).fill("3");
  await form.getByRole("button", { name: "Answer", exact: true }).click();
  await answered(page, "The tool said: booked hill for 3 at desk 7");
  await form.waitFor({ state: "detached" });
  await close();
});

test("what is answered in one tab is asked in no other, and a no is a no", async () => {
  const { page, context, close } = await visitors(world).newcomer();
  await say(page, asking("never"));
  const card = (tab) => tab.getByRole("group", { name: "May the oracle use send?" });
  await card(page).waitFor();
  const other = await context.newPage();
  await other.goto(page.url());
  await card(other).getByRole("button", { name: "Deny" }).click();
  await card(page).waitFor({ state: "detached" });
  await card(other).waitFor({ state: "detached" });
  for (const tab of [page, other]) await answered(tab, "The tool said");
  assert.equal(sent("never"), 0);
  await close();
});

test("who is asked may say something else instead", async () => {
  const { page, close } = await visitors(world).newcomer();
  await say(page, asking("withdrawn"));
  const card = page.getByRole("group", { name: "May the oracle use send?" });
  await card.waitFor();
  await page.getByRole("button", { name: "Stop the answer" }).click();
  await card.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Send", exact: true }).waitFor();
  await say(page, "forget it");
  await answered(page, "You said: forget it");
  assert.equal(sent("withdrawn"), 0);
  await close();
});

test("a question that nobody answers in time says so", async () => {
  const { page, close } = await visitors(hasty).newcomer();
  await say(page, asking("too late"));
  const late = page.getByText("Nobody answered in time, so send was not used.");
  await late.waitFor();
  await answered(page, "The tool said");
  await late.waitFor();
  assert.equal(await page.getByRole("group", { name: /^May/ }).count(), 0);
  await say(page, "go on");
  await late.waitFor({ state: "detached" });
  await answered(page, "You said: go on");
  assert.equal(sent("too late"), 0);
  await close();
});
