// The console against one process on its own data folder.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chatTests } from "./chat.mjs";
import { fileTests } from "./files.mjs";
import { startModel } from "./model.mjs";
import { pageTests } from "./pages.mjs";
import { answered, say, visitors } from "./visitor.mjs";
import { startBrowser, startProgram } from "./world.mjs";

const world = {};
const plain = {};
let programs = [];
before(async () => {
  world.model = await startModel();
  world.browser = plain.browser = await startBrowser();
  const [modelled, guided] = await Promise.all([
    startProgram({ MODEL_PROVIDER: "openai", OPENAI_BASE_URL: world.model.url, OPENAI_API_KEY: "x", MODEL: "small,large" }),
    startProgram({ FEATURES: "credits=true", CREDITS_WELCOME: "60", CREDITS_ESTIMATE: "50", CREDITS_SECRET: "a secret of the operator" }),
  ]);
  programs = [modelled, guided];
  world.url = modelled.url;
  plain.url = guided.url;
});
after(async () => {
  await world.browser?.close();
  await Promise.all(programs.map((p) => p.stop()));
  await world.model?.stop();
});

chatTests(world);
fileTests(world);
pageTests(world);

test("the built-in guide draws a chart for a newcomer", async () => {
  const { page, close } = await visitors(plain).newcomer();
  await page.getByRole("button", { name: /Draw a chart/ }).click();
  await page.getByRole("img", { name: /^Litres drawn at the spring/ }).first().waitFor();
  await page.getByText(/\d+ credits?/).first().waitFor();
  await close();
});

test("who has no credits left is told so kindly, and goes on when they are granted", async () => {
  const { page, close, visit } = await visitors(plain).newcomer();
  await page.getByRole("link", { name: "About" }).click();
  const did = (await page.getByText(/^did:key:z6Mk/).first().textContent()).trim().split(/\s/)[0];
  await visit("chat");
  let refused = false;
  for (let i = 0; i < 60 && !refused; i++) {
    await say(page, `What is Castalia? ${"Tell me everything about it. ".repeat(200)}`);
    const told = page.getByText("Your credits are used up.");
    const send = page.getByRole("button", { name: "Stop the answer" });
    await page.waitForTimeout(50);
    await send.waitFor({ state: "hidden" });
    refused = await told.isVisible();
  }
  assert.ok(refused, "the credits never ended");
  await page.locator(".payment").getByText(did).waitFor();
  const granted = await fetch(`${plain.url}/credits/grants`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: "Bearer a secret of the operator" },
    body: JSON.stringify({ did, amount: 5000, key: "test" }),
  });
  assert.equal(granted.status, 200);
  await page.getByRole("button", { name: "Look again" }).click();
  await page.getByText(/[1-9],\d{3} credits/).waitFor();
  await say(page, "help");
  await answered(page, "I can");
  await close(["402"]);
});
