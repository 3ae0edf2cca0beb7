// What people start from, as they get it: the examples without React, each in a real page against the real program.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startModel } from "./model.mjs";
import { answerFile, startSite } from "./site.mjs";
import { eventually, startBrowser, startProgram } from "./world.mjs";

const web = resolve(fileURLToPath(import.meta.url), "../../../web");
const run = promisify(execFile);
const world = {};

before(async () => {
  world.model = await startModel();
  world.browser = await startBrowser();
  world.program = await startProgram({ MODEL_PROVIDER: "openai", OPENAI_BASE_URL: world.model.url, OPENAI_API_KEY: "x" });
  await run("npm", ["run", "build", "-w", "example-core"], { cwd: web });
});
after(async () => {
  await world.browser?.close();
  await world.program?.stop();
  await world.model?.stop();
});

/** A tab of a visitor of their own, and what went wrong in it. */
async function visit(url) {
  const context = await world.browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  await page.goto(url);
  return { page, errors, leave: () => context.close() };
}

async function send(page, text) {
  await page.getByLabel("Your message").fill(text);
  await page.keyboard.press("Enter");
}

const answer = (page) => page.locator("article.ai").last();

const counted = (n) => Array.from({ length: n }, (_, i) => `n${i + 1}`).join(" ");

function said(page, want) {
  return eventually(`the answer is ${want}`, async () => (await answer(page).textContent()).trim() === want);
}

/** An answer that streams, one that fails and is asked again, and a page that is loaded again. */
async function talk(page) {
  await send(page, "count to 40 every 5 hold at 20");
  await answer(page).getByText("n20").waitFor();
  await page.reload();
  await answer(page).getByText("n20").waitFor();
  world.model.release();
  await said(page, counted(40));

  const failures = () => world.model.requests.filter((r) => JSON.stringify(r.messages.at(-1)).includes("fail with 400")).length;
  await send(page, "fail with 400");
  const alert = page.getByRole("alert").filter({ hasText: "Try again" });
  await alert.waitFor();
  const before = failures();
  await alert.getByRole("button", { name: "Try again" }).click();
  await eventually("it was asked again", () => failures() > before);
  await alert.waitFor();
  await send(page, "water");
  await said(page, "You said: water");
  await alert.waitFor({ state: "hidden" });
}

for (const name of ["plain", "vue", "svelte"]) {
  test(`the ${name} example answers, streams, fails aloud and tries again`, async () => {
    const site = await startSite((request, reply) => answerFile(join(web, "example-core/dist"), request, reply));
    const { page, errors, leave } = await visit(`${site.url}/${name}.html?server=${encodeURIComponent(world.program.url)}`);
    await talk(page);
    assert.deepEqual(errors, []);
    await leave();
    site.stop();
  });
}
