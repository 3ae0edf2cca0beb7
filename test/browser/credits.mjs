// Credits: what the console says when they end.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, say, visitors } from "./visitor.mjs";
import { eventually } from "./world.mjs";

/** A program that gives newcomers a little credit. */
export const little = {
  FEATURES: "credits=true",
  CREDITS_WELCOME: "60",
  CREDITS_ESTIMATE: "50",
  CREDITS_SECRET: "a secret of the operator",
};

export function creditTests(world) {
  test("who has no credits left is told so kindly, and goes on when they are granted", async () => {
    const { page, close, visit } = await visitors(world).newcomer();
    await page.getByRole("link", { name: "About" }).click();
    const did = (await page.getByText(/^did:key:z6Mk/).first().textContent()).trim().split(/\s/)[0];
    await visit("chat");
    const told = page.getByText("Your credits are used up.");
    await eventually("the credits end", async () => {
      const said = await page.locator("article.castalia-message.ai").count();
      await say(page, `What is Castalia? ${"Tell me everything about it. ".repeat(200)}`);
      await told.or(page.locator("article.castalia-message.ai").nth(said)).first().waitFor();
      await page.getByRole("button", { name: "Stop the answer" }).waitFor({ state: "hidden" });
      return told.isVisible();
    });
    await page.locator(".payment").getByText(did).waitFor();
    const entry = page.getByLabel("Your message");
    await eventually("what was not sent is given back", async () => (await entry.inputValue()).startsWith("What is Castalia?"));
    const granted = await fetch(`${world.url}/credits/grants`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${little.CREDITS_SECRET}` },
      body: JSON.stringify({ did, amount: 5000, key: "test" }),
    });
    assert.equal(granted.status, 200);
    await page.getByRole("button", { name: "Look again" }).click();
    await page.getByText(/[1-9],\d{3} credits/).waitFor();
    await say(page, "help");
    await answered(page, "I can");
    await close(["402"]);
  });
}
