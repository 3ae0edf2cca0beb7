// Frameworks that draw on a server first: Next's app router and React Router. Each is installed from the registry
// at the versions that its package.json names, with the packed libraries, built, started, and used in Chromium:
// what the server drew, hydration without a complaint, StrictMode, Suspense, error boundaries, a reply in order,
// an error, an attachment, another answer. `make ci-long` runs it: an installation asks the network.
//
//   node test/browser/frameworks.mjs [next] [router]
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startModel } from "./model.mjs";
import { eventually, freePort, startBrowser, startProgram } from "./world.mjs";

const sources = fileURLToPath(new URL("frameworks", import.meta.url));
const web = fileURLToPath(new URL("../../web", import.meta.url));
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "castalia-frameworks-"));
const packed = join(folder, "packed");
const world = {};

before(async () => {
  mkdirSync(packed);
  for (const library of ["client", "ui"]) {
    await run("npm", ["pack", "--ignore-scripts", "--pack-destination", packed], { cwd: join(web, library) });
  }
  world.model = await startModel();
  world.browser = await startBrowser();
  world.program = await startProgram({ MODEL_PROVIDER: "openai", OPENAI_BASE_URL: world.model.url, OPENAI_API_KEY: "x" });
});
after(async () => {
  await world.browser?.close();
  await world.program?.stop();
  await world.model?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Makes the app as its framework's users do, and serves it. */
async function start(name) {
  const app = join(folder, name);
  cpSync(join(sources, name), app, { recursive: true });
  copyFileSync(join(sources, "Oracle.tsx"), join(app, "app/Oracle.tsx"));
  const port = await freePort();
  const env = { ...process.env, ORACLE: world.program.url, PORT: String(port), NEXT_TELEMETRY_DISABLED: "1" };
  const libraries = readdirSync(packed).map((file) => join(packed, file));
  await run("npm", ["install", "--no-audit", "--no-fund", ...libraries], { cwd: app, env });
  const built = await run("npm", ["run", "build"], { cwd: app, env });
  assert.doesNotMatch(built.stdout + built.stderr, /warning/i);
  const server = spawn("npm", ["run", "start"], { cwd: app, env, detached: true, stdio: "ignore" });
  const ended = new Promise((done) => server.once("exit", done));
  const url = `http://127.0.0.1:${port}/`;
  await eventually("it serves", async () => (await fetch(url)).ok);
  return {
    url,
    stop() {
      process.kill(-server.pid, "SIGTERM");
      return ended;
    },
  };
}

const texts = (page, where) => page.locator(where).evaluateAll((all) => all.map((one) => one.textContent.trim()));

for (const name of ["next", "router"].filter((name) => process.argv.length < 3 || process.argv.includes(name))) {
  test(`${name}: drawn by the server, taken over by the page`, async () => {
    const site = await start(name);
    try {
      const drawn = await (await fetch(site.url)).text();
      for (const want of [/<h1>Ask<\/h1>/, /Opening (<!-- -->)?ready/, /Ask anything\./]) assert.match(drawn, want);

      const page = await world.browser.newPage();
      page.setDefaultTimeout(60_000);
      const complaints = [];
      page.on("pageerror", (error) => complaints.push(error.message));
      page.on("console", (said) => {
        const isIcon = said.location().url.endsWith("/favicon.ico"); // nobody made one
        if (said.type() === "error" && !isIcon) complaints.push(said.text());
      });
      await page.goto(site.url);
      await page.getByRole("button", { name: "Begin" }).click();
      await page.getByText("A piece that came later").waitFor();
      assert.deepEqual(complaints, [], "hydration, StrictMode and Suspense");

      const send = async (text) => {
        await page.getByLabel("Your message").fill(text);
        await page.keyboard.press("Enter");
      };
      const last = "article.ai >> nth=-1";
      const order = ["Text 0.", "load_capability", "Text 1.", "load_capability", "Text 2."];
      const inOrder = async () =>
        (await texts(page, `${last} >> .castalia-markdown, .castalia-tool > summary > .castalia-mono`)).join() === order.join();
      await send("steps with load_capability");
      await eventually("the parts are in order", inOrder);
      await page.reload();
      await eventually("they are after a reload", inOrder);

      await page.getByRole("button", { name: "Ask again" }).last().click();
      await page.getByRole("group", { name: "Version 2 of 2" }).waitFor();
      await eventually("it is answered again", inOrder);

      await page.getByLabel("Files to attach").setInputFiles({ name: "well.txt", mimeType: "text/plain", buffer: Buffer.from("nine metres deep") });
      await page.getByRole("button", { name: "Send" }).and(page.locator(":enabled")).waitFor();
      await send("How deep is it?");
      await page.locator(last).getByText("nine metres deep").waitFor();

      await send("fail with 503");
      await page.getByRole("button", { name: "Try again" }).waitFor();
      await page.getByRole("alert").first().waitFor();

      await page.getByRole("button", { name: "Break" }).click();
      await page.getByText("Caught: ").waitFor();
      await send("water");
      await page.locator(last).getByText("You said: water").waitFor();
      await page.close();
    } finally {
      await site.stop();
    }
  });
}
