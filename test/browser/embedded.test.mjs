// The console against one process on its own data folder.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chatTests } from "./chat.mjs";
import { choiceTests } from "./choices.mjs";
import { creditTests, little } from "./credits.mjs";
import { docsTests } from "./docs.mjs";
import { fileTests } from "./files.mjs";
import { guarded, inviteTests } from "./invite.mjs";
import { keyboardTests } from "./keyboard.mjs";
import { keyTests } from "./keys.mjs";
import { lineTests } from "./line.mjs";
import { lookTests } from "./looks.mjs";
import { managerTests } from "./manager.mjs";
import { meetingTests } from "./meetings.mjs";
import { menuTests, narrow } from "./menu.mjs";
import { startModel } from "./model.mjs";
import { hasty, newKeyTests } from "./newkeys.mjs";
import { pageTests } from "./pages.mjs";
import { peopleTests } from "./people.mjs";
import { phoneTests } from "./phones.mjs";
import { usageTests } from "./usage.mjs";
import { vaultTests } from "./vault.mjs";
import { served, setupTests } from "./setup.mjs";
import { answered, visitors } from "./visitor.mjs";
import { startBrowser, startProgram } from "./world.mjs";

const world = {};
const plain = {};
const invited = {};
const guided = {};
const owned = {};
const calling = {};
let programs = [];
before(async () => {
  world.model = await startModel();
  const browser = await startBrowser();
  for (const one of [world, plain, invited, guided, owned, calling]) one.browser = browser;
  const [modelled, poor, door, free, server, phones] = await Promise.all([
    startProgram({ MODEL_PROVIDER: "openai", OPENAI_BASE_URL: world.model.url, OPENAI_API_KEY: "x", MODEL: "small,large" }),
    startProgram(little),
    startProgram(guarded),
    startProgram(narrow),
    startProgram(served),
    startProgram(hasty),
  ]);
  programs = [modelled, poor, door, free, server, phones];
  world.url = modelled.url;
  plain.url = poor.url;
  invited.url = door.url;
  guided.url = free.url;
  Object.assign(calling, { url: phones.url, program: phones });
  Object.assign(owned, { url: server.url, program: server });
});
after(async () => {
  await world.browser?.close();
  await Promise.all(programs.map((p) => p.stop()));
  await world.model?.stop();
});

chatTests(world);
lineTests(world);
keyboardTests(world);
fileTests(world);
managerTests(world);
meetingTests(world);
pageTests(world);
lookTests(world);
keyTests(world);
vaultTests(world);
menuTests(guided);
docsTests(guided);

test("the built-in guide draws a chart for a newcomer", async () => {
  const { page, close } = await visitors(plain).newcomer();
  await page.getByRole("button", { name: /Draw a chart/ }).click();
  await page.getByRole("img", { name: /^Litres drawn at the spring/ }).waitFor();
  await page.getByText(/\d+ credits?/).first().waitFor();
  await close();
});

test("who lists their files at once is asked, and sees them as soon as they allow it", async () => {
  const { page, close } = await visitors(guided).newcomer();
  await page.getByRole("button", { name: /List my files/ }).click();
  const asked = page.getByRole("region", { name: "Permission for your files" });
  await asked.waitFor();
  await asked.getByRole("button", { name: "Allow" }).click();
  await answered(page, "Your files:");
  await page.getByText("The oracle may read your files").waitFor();
  assert.equal(await page.locator("article.castalia-message.human").count(), 1, "nobody has to ask twice");
  await close();
});

test("the theme is changed by the page itself, and said in a sentence", async () => {
  const { page, close } = await visitors(guided).newcomer({ colorScheme: "light" });
  await page.getByRole("button", { name: /Set the theme to dark/ }).click();
  const answer = await answered(page, "The page is dark now.");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  assert.doesNotMatch(await answer.locator(".castalia-markdown").textContent(), /answered|[{}]/);
  await close();
});

setupTests(owned);
choiceTests(guided, world);
creditTests(plain);
inviteTests(invited);
peopleTests(invited);
usageTests(guided);
newKeyTests(calling);
phoneTests(calling);
