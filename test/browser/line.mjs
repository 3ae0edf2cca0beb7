// What a person sees of a line that breaks and of tokens that end, in every deployment.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { endedToken } from "./tokens.mjs";
import { answered, say, visitors } from "./visitor.mjs";
import { eventually, startWire } from "./world.mjs";

/** What a browser writes into its console about a line that is away. */
const away = ["net::ERR_", "WebSocket connection to"];

export function lineTests(world) {
  /** Somebody whose line to the server can be cut. */
  async function wired(run) {
    const wire = await startWire(world.url);
    try {
      const { newcomer } = visitors({ browser: world.browser, url: wire.url });
      await run(wire, await newcomer());
    } finally {
      wire.stop();
    }
  }
  const lost = (page) => page.getByText("The connection is lost. Trying again…");
  const live = (page) => page.getByText("Live", { exact: true });

  test("a line that breaks in the middle of an answer is told of, and the answer goes on", () =>
    wired(async (wire, { page, close }) => {
      await say(page, "count to 60 every 5 hold at 20");
      const answer = page.locator("article.castalia-message.ai").last();
      await answer.getByText("n20").waitFor();
      wire.cut();
      await lost(page).waitFor();
      await answer.getByText("n20").waitFor();
      await page.getByRole("button", { name: "Stop the answer" }).waitFor();
      assert.equal(await page.getByRole("alert").count(), 0, "nothing has failed yet");
      world.model.release();
      wire.mend();
      await answered(page, "n60");
      await live(page).waitFor();
      await lost(page).waitFor({ state: "detached" });
      const numbers = (await answer.locator(".castalia-markdown").textContent()).match(/n\d+/g);
      assert.deepEqual(
        numbers,
        Array.from({ length: 60 }, (_, i) => `n${i + 1}`),
      );
      assert.equal(await page.locator("article.castalia-message").count(), 2);
      await close(away);
    }));

  test("what cannot be sent is given back, and can be sent when the line is there again", () =>
    wired(async (wire, { page, close }) => {
      await say(page, "good morning");
      await answered(page, "You said: good morning");
      wire.cut();
      await lost(page).waitFor();
      const entry = page.getByLabel("Your message");
      await entry.fill("what is water?");
      await page.keyboard.press("Enter");
      await page.getByRole("alert").getByText("The server cannot be reached.").waitFor();
      assert.equal(await entry.inputValue(), "what is water?");
      wire.mend();
      await live(page).waitFor();
      await eventually("only what the oracle has is shown", async () => {
        return (await page.locator("article.castalia-message.human").count()) === 1;
      });
      await entry.focus();
      await page.keyboard.press("Enter");
      await answered(page, "You said: what is water?");
      assert.equal(await page.getByRole("alert").count(), 0);
      assert.equal(await entry.inputValue(), "");
      assert.equal(await page.locator("article.castalia-message").count(), 4);
      await close(away);
    }));

  test("a token that ends in the middle of a conversation is not noticed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "castalia-token-"));
    const { page, close } = await visitors(world).newcomer();
    const ended = await endedToken(world.url, join(folder, "other.key"));
    const bearers = new Set();
    page.on("request", (r) => bearers.add(r.headers()["authorization"]));
    await say(page, "before");
    await answered(page, "You said: before");
    const old = [...bearers].filter(Boolean);
    // From now on the server meets an ended token where the page sends its old one.
    let refused = 0;
    await page.route(/\/(messages|sessions|runs)\b/, (route) => {
      const headers = route.request().headers();
      if (!old.includes(headers["authorization"])) return route.continue();
      refused++;
      return route.continue({ headers: { ...headers, authorization: `Bearer ${ended}` } });
    });
    await say(page, "after");
    await answered(page, "You said: after");
    assert.ok(refused > 0, "the old token was never sent");
    assert.equal(await page.getByRole("alert").count(), 0);
    assert.deepEqual(await page.locator("article.castalia-message.human").allTextContents(), [
      "Youbefore",
      "Youafter",
    ]);
    rmSync(folder, { recursive: true });
    await close(["401"]);
  });

  test("a page that slept until its token was about to end goes on", async () => {
    const { page, visit, close } = await visitors(world).stranger();
    await page.addInitScript(() => {
      const now = Date.now;
      let asleep = 9.5 * 60_000;
      Date.now = () => now() - asleep;
      globalThis.wake = () => (asleep = 0);
    });
    await visit("");
    await page.getByRole("button", { name: "Make a key and enter" }).click();
    await say(page, "before");
    await answered(page, "You said: before");
    const kept = () => page.evaluate(() => localStorage.getItem("oracles_ucan_invocations"));
    const before = await kept();
    await page.evaluate(() => globalThis.wake());
    await say(page, "after");
    await answered(page, "You said: after");
    assert.notEqual(await kept(), before, "a token that ends within seconds was kept");
    assert.equal(await page.getByRole("alert").count(), 0);
    await close(["401"]);
  });
}
