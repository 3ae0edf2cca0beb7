// The console in the engine that the environment names (WEBKIT_DRIVER or FIREFOX_DRIVER): the tests of Chromium, on one
// shape. What is about the server, and not about the page, is left to Chromium.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chatTests } from "./chat.mjs";
import { fileTests } from "./files.mjs";
import { keyTests } from "./keys.mjs";
import { lookTests } from "./looks.mjs";
import { startModel } from "./model.mjs";
import { visitors } from "./visitor.mjs";
import { engine, startBrowser, startProgram } from "./world.mjs";

const world = {};
let program;
before(async () => {
  [world.model, world.browser] = await Promise.all([startModel(), startBrowser()]);
  program = await startProgram({ MODEL_PROVIDER: "openai", OPENAI_BASE_URL: world.model.url, OPENAI_API_KEY: "x", MODEL: "small,large" });
  world.url = program.url;
});
after(async () => {
  await world.browser?.close();
  await program?.stop();
  await world.model?.stop();
});

test(`what ${engine} has of what the console uses where it can`, async (t) => {
  const { page, close } = await visitors(world).newcomer();
  const has = await page.evaluate(async () => {
    const made = async (name) => crypto.subtle.generateKey(name, false, name === "Ed25519" ? ["sign"] : ["deriveBits"]);
    const can = (work) => work.then(() => true, () => false);
    return {
      Ed25519: await can(made("Ed25519")),
      X25519: await can(made("X25519")),
      WebRTC: "RTCPeerConnection" in globalThis,
    };
  });
  t.diagnostic(JSON.stringify(has));
  // The browser signs by itself then, with a key that no script can read.
  assert.ok(has.Ed25519);
  await close();
});

lookTests(world);
chatTests(world);
fileTests(world);
keyTests(world);
