// The published client 1.4.0 in a real browser, where what its live channel tells is a matter of moments.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, it } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { castalia, eventually, World } from "../world.mjs";
import { Model, told } from "./model.js";

let model, world, site, browser;

/** What the model says; to who asks for it slowly it never comes to an end by itself. */
async function* answer(asked) {
  const { text } = told(asked);
  yield `Hello from ${text}.`;
  if (text.includes("slowly")) await new Promise(() => {});
}

/** The page and its script, on an origin of their own. */
async function startSite() {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("tab.js", import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2022",
    define: { "process.env.NODE_ENV": '"production"', "process.env": "{}" },
    logLevel: "error",
  });
  const page = '<!doctype html><meta charset="utf-8"><title>A page</title><div id="root"></div><script type="module" src="/tab.js"></script>';
  const server = createServer(({ url }, response) => {
    const isScript = url === "/tab.js";
    response.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" }).end(isScript ? outputFiles[0].text : page);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${server.address().port}`, stop: () => (server.closeAllConnections(), server.close()) };
}

before(async () => {
  model = await Model.start(answer);
  world = await World.start({ MODEL_PROVIDER: "openai", MODEL: "test", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "k", QUERY_CORS_ORIGIN: "*" });
  site = await startSite();
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
});
after(async () => {
  await browser?.close();
  site?.stop();
  await world?.stop();
  model?.stop();
});

const mint = (verb) => castalia(["ucan", verb, "--key", world.key, "--audience", world.service, "--can", "*", "--with", "ixo:oracle", "--ttl", "14m"]);

/** Asks the oracle beside the page. */
async function ask(path, method = "GET") {
  const headers = { "x-ucan-delegation": await mint("delegate"), authorization: `Bearer ${await mint("invoke")}`, "x-auth-type": "ucan" };
  return (await fetch(world.url + path, { method, headers })).json();
}

/** A tab with the chat of a new session, whose live channel is up. */
async function newChat(t) {
  const { sessionId } = await ask("/sessions", "POST");
  const { entities } = await (await fetch(`${world.url}/ixo/entity`)).json();
  const entity = entities.find(({ type }) => type === "oracle").id;
  const context = await browser.newContext();
  t.after(() => context.close());
  const page = await context.newPage();
  const heard = []; // by its live channel
  page.on("websocket", (socket) => socket.on("framereceived", ({ payload }) => heard.push(String(payload))));
  const faults = [];
  page.on("pageerror", ({ message }) => faults.push(message));
  await page.exposeFunction("mint", mint);
  await page.goto(`${site.url}/#${new URLSearchParams({ url: world.url, did: world.did, entity, session: sessionId })}`);
  await page.locator("main[data-live=true]").waitFor({ state: "attached" });
  return {
    page,
    heard,
    faults,
    send: (text) => page.evaluate((text) => void globalThis.chat.sendMessage(text).catch(() => {}), text),
    shown: () => page.locator("article").allTextContents(),
    ready: () => page.locator("main[data-status=ready]").waitFor({ state: "attached" }),
  };
}

it("shows no ghost of an answer when a title comes late", async (t) => {
  let name;
  model.titled = new Promise((done) => (name = done));
  const { page, send, shown, ready, heard } = await newChat(t);
  await send("here");
  await page.getByText("Hello from here.").waitFor();
  await ready();
  name();
  await eventually(() => "the page is told of the title", async () => heard.some((frame) => frame.includes("A title")));
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  assert.deepEqual(await shown(), ["here", "Hello from here."]);
});

// That client ends its own request when the server's answer to the abort is there, and fails when it has ended
// before. The server is as quick as it can be: it stops an answer that waits for the model.
it("stops an answer as often as somebody likes, and goes on", async (t) => {
  const { page, send, shown, ready, faults } = await newChat(t);
  const said = [];
  for (const word of ["one", "two", "three", "four", "five"]) {
    await send(`${word} slowly`);
    await page.getByText(`Hello from ${word} slowly.`).waitFor();
    assert.equal(await page.evaluate(() => globalThis.chat.abortStream().then(() => "stopped", String)), "stopped");
    await ready();
    said.push(`${word} slowly`, `Hello from ${word} slowly.`);
    let seen;
    await eventually(() => `the page shows ${said}; it has ${seen}`, async () => (seen = (await shown()).join()) === said.join());
  }
  await send("again");
  await page.getByText("Hello from again.").waitFor();
  await ready();
  assert.deepEqual(faults, []);
});
