// What people start from, as they get it: the examples without React, and the template, which is installed by npm
// from the packed libraries, each in a real page against the real program.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startModel } from "./model.mjs";
import { startRegistry } from "./registry.mjs";
import { answerFile, startSite } from "./site.mjs";
import { check } from "./visitor.mjs";
import { errorsOf, eventually, freePort, startBrowser, startProgram, startWire } from "./world.mjs";

const web = resolve(fileURLToPath(import.meta.url), "../../../web");
const run = promisify(execFile);
const world = {};
const folder = mkdtempSync(join(tmpdir(), "castalia-examples-"));
const app = join(folder, "my-app");

before(async () => {
  world.model = await startModel();
  world.browser = await startBrowser();
  world.program = await startProgram({ MODEL_PROVIDER: "openai", OPENAI_BASE_URL: world.model.url, OPENAI_API_KEY: "x" });
  world.wire = await startWire(world.program.url);
  await Promise.all([run("npm", ["run", "build", "-w", "example-core"], { cwd: web }), install()]);
});
after(async () => {
  await world.browser?.close();
  world.wire?.stop();
  await world.program?.stop();
  await world.model?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Copies the template and does what its README says, but for the last command; then builds it. */
async function install() {
  cpSync(join(web, "template"), app, { recursive: true, filter: (path) => !/^(node_modules|dist)$/.test(basename(path)) });
  const packed = join(folder, "packed");
  mkdirSync(packed);
  for (const library of ["client", "ui"]) {
    await run("npm", ["pack", "--ignore-scripts", "--pack-destination", packed], { cwd: join(web, library) });
  }
  const registry = await startRegistry(web, readdirSync(packed).map((name) => join(packed, name)));
  try {
    const told = /```sh\n(.*?)```/s.exec(readFileSync(join(app, "README.md"), "utf8"))[1].trim();
    assert.deepEqual(told.split("\n"), ["npm install", "npm run dev"], "two commands");
    const settings = { npm_config_registry: registry.url, npm_config_cache: join(folder, "cache"), npm_config_audit: "false" };
    await run("npm", ["install"], { cwd: app, env: { ...process.env, ...settings } });
  } finally {
    registry.stop();
  }
  await run("npm", ["run", "build"], { cwd: app, env: { ...process.env, VITE_ORACLE: world.wire.url } });
}

/** A tab of a visitor of their own, and what went wrong in it. */
async function visit(url) {
  const context = await world.browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const errors = errorsOf(page);
  await page.goto(url);
  return { page, errors, leave: () => context.close() };
}

async function send(page, text) {
  await page.getByLabel("Your message").fill(text);
  await page.keyboard.press("Enter");
}

const answer = (page) => page.locator("article.ai").last();

const counted = (n) => Array.from({ length: n }, (_, i) => `n${i + 1}`).join(" ");

/** What the last answer says; the components put more into it than what was said. */
const saying = (page) =>
  answer(page).evaluate((article) => {
    const parts = [...article.querySelectorAll(".castalia-markdown, .castalia-tool > summary > .castalia-mono")];
    const said = parts.length > 0 ? parts.map((part) => part.textContent).join(" ") : article.textContent;
    return said.replace(/\s+/g, " ").trim();
  });

async function said(page, want) {
  let got = "";
  await eventually(`the answer is ${want}`, async () => (got = await saying(page)) === want).catch((cause) => {
    throw new Error(`${cause.message}; it is ${got}`);
  });
}

/** How often the page says something. */
const saysSo = (page, text) => page.evaluate((text) => document.body.innerText.split(text).length - 1, text);

/** An answer that streams, one that fails and is asked again, one that would fail again, and a page that is loaded again. */
async function talk(page) {
  await send(page, "count to 40 every 5 hold at 20");
  await answer(page).getByText("n20").waitFor();
  await page.reload();
  await answer(page).getByText("n20").waitFor();
  world.model.release();
  await said(page, counted(40));

  const failures = () => world.model.requests.filter((r) => JSON.stringify(r.messages.at(-1)).includes("fail with 503")).length;
  await send(page, "fail with 503");
  const again = page.getByRole("button", { name: "Try again" });
  await again.waitFor();
  await page.getByRole("alert").first().waitFor();
  const before = failures();
  await again.click();
  await eventually("it was asked again", () => failures() > before);
  await again.waitFor();
  await send(page, "fail with 400");
  await page.getByText("tell whoever runs this oracle").first().waitFor();
  await again.waitFor({ state: "hidden" });
  await send(page, "water");
  await said(page, "You said: water");
}

for (const name of ["plain", "vue", "svelte"]) {
  test(`the ${name} example answers, streams, fails aloud and tries again`, async () => {
    const site = await startSite((request, reply) => answerFile(join(web, "example-core/dist"), request, reply));
    const { page, errors, leave } = await visit(`${site.url}/${name}.html?server=${encodeURIComponent(world.program.url)}`);
    await talk(page);
    await send(page, "fail with 503");
    await page.getByRole("alert").getByText("The model had a problem.").waitFor();
    await page.getByRole("button", { name: "Try again" }).waitFor();
    assert.equal(await saysSo(page, "The model had a problem."), 1 + 1, "as it was before, and now");
    assert.deepEqual(errors, []);
    await leave();
    site.stop();
  });
}

test("the template, installed and built, shows order, recovery, errors, attachments and another answer", async () => {
  const site = await startSite((request, reply) => answerFile(join(app, "dist"), request, reply));
  world.wire.cut();
  const { page, errors, leave } = await visit(site.url);
  await page.getByRole("alert").getByText("does not answer").waitFor();
  world.wire.mend();
  await page.getByRole("button", { name: "New conversation" }).click();
  await talk(page);

  await page.getByRole("button", { name: "Ask again" }).last().click();
  const water = page.locator("article.human").filter({ hasText: "water" });
  await water.getByRole("group", { name: "Version 2 of 2" }).waitFor();
  await said(page, "You said: water");

  await send(page, "steps with load_capability");
  const order = "Text 0. load_capability Text 1. load_capability Text 2.";
  await said(page, order);
  await page.reload();
  await said(page, order);

  await page.getByLabel("Files to attach").setInputFiles({ name: "well.txt", mimeType: "text/plain", buffer: Buffer.from("nine metres deep") });
  await page.getByText("well.txt").waitFor();
  await page.getByRole("button", { name: "Send" }).and(page.locator(":enabled")).waitFor();
  await send(page, "How deep is it?");
  await answer(page).getByText("nine metres deep").waitFor();

  // A conversation that cannot be read says so, and comes by itself.
  await page.route(/\/sessions\/[^/?]+\/messages/, (route) => route.abort());
  await page.reload();
  await page.getByRole("status").getByText("Trying again…").waitFor();
  await page.getByRole("button", { name: "Retry now" }).waitFor();
  assert.equal(await page.getByRole("alert").count(), 0, "nobody has to do anything");
  await check(page, "a conversation that cannot be read yet");
  await page.unroute(/\/sessions\/[^/?]+\/messages/);
  await answer(page).getByText("nine metres deep").waitFor();
  await page.getByRole("button", { name: "Retry now" }).waitFor({ state: "detached" });

  const list = page.getByRole("complementary", { name: "Conversations" });
  await list.getByRole("link").first().waitFor();
  await page.setViewportSize({ width: 360, height: 640 });
  await list.waitFor({ state: "hidden" });
  await check(page, "the template on a telephone");
  await page.getByRole("link", { name: "All conversations" }).click();
  await list.getByRole("link").first().waitFor();
  assert.deepEqual(errors, []);
  await leave();
  site.stop();
});

test("the template's second command serves a page that answers", async () => {
  const port = await freePort();
  const args = ["run", "dev", "--", "--host", "127.0.0.1", "--port", String(port), "--strictPort"];
  const dev = spawn("npm", args, { cwd: app, env: { ...process.env, VITE_ORACLE: world.program.url }, detached: true, stdio: "ignore" });
  const ended = new Promise((done) => dev.once("exit", done));
  try {
    const url = `http://127.0.0.1:${port}/`;
    await eventually("it serves", async () => (await fetch(url)).ok);
    const { page, leave } = await visit(url);
    await page.getByRole("button", { name: "New conversation" }).click();
    await send(page, "water");
    await said(page, "You said: water");
    await leave();
  } finally {
    process.kill(-dev.pid, "SIGTERM");
    await ended;
  }
});
