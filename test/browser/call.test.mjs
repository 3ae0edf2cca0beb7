// Calls in a real browser with made-up devices, against the real program.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { caller, devices } from "./telephone.mjs";
import { eventually, startBrowser, startProgram } from "./world.mjs";

let program;
let browser;
before(async () => {
  [program, browser] = await Promise.all([startProgram(), startBrowser(devices)]);
});
after(async () => {
  await browser?.close();
  await program?.stop();
});

test("a call is heard and seen, captioned, kept as text, and over when it is hung up", async () => {
  const tab = await caller(browser, program.url);
  await tab.call("Video call");
  await tab.connected();
  await tab.type("What is Castalia?");
  assert.equal(await tab.hears(440), true);
  await tab.sees();
  await tab.page.locator(".caption.user", { hasText: "What is Castalia?" }).waitFor();
  await eventually("the answer is captioned", async () => {
    const text = await tab.page.locator(".caption.assistant").last().textContent();
    return text.length > 40;
  });
  await tab.page.getByRole("button", { name: "Hang up" }).click();
  await tab.page.getByText("The call has ended.").waitFor();
  assert.deepEqual(await tab.devices(), ["ended", "ended"]);
  await tab.page.getByRole("link", { name: "Read the conversation" }).click();
  await tab.page.locator("article.message.human", { hasText: "What is Castalia?" }).waitFor();
  await tab.page.locator("article.message.ai").first().waitFor();
  assert.deepEqual(tab.faults, []);
  await tab.close();
});
