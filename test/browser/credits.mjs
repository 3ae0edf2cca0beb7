// Credits: what the console says when they end.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, looksRight, say, visitors } from "./visitor.mjs";
import { eventually } from "./world.mjs";

/** A program that gives newcomers a little credit. */
export const little = {
  FEATURES: "credits=true",
  CREDITS_WELCOME: "60",
  CREDITS_ESTIMATE: "50",
  CREDITS_SECRET: "a secret of the operator",
  // A registry that nobody has: claims fail at once.
  CLAIMS_URL: "http://127.0.0.1:9",
  CLAIMS_EVERY: "1s",
  CLAIMS_ATTEMPTS: "1",
};

/** Talks until there are no credits left. */
function useUp(page) {
  const told = page.getByText("Your credits are used up.");
  return eventually("the credits end", async () => {
    const said = await page.locator("article.castalia-message.ai").count();
    await say(page, `What is Castalia? ${"Tell me everything about it. ".repeat(200)}`);
    await told.or(page.locator("article.castalia-message.ai").nth(said)).first().waitFor();
    await page.getByRole("button", { name: "Stop the answer" }).waitFor({ state: "hidden" });
    return told.isVisible();
  });
}

export function creditTests(world) {
  test("who has no credits left is told so kindly, and goes on when they are granted", async () => {
    const { page, close, visit } = await visitors(world).newcomer();
    await page.getByRole("link", { name: "About" }).click();
    const did = (await page.getByText(/^did:key:z6Mk/).first().textContent()).trim().split(/\s/)[0];
    await visit("chat");
    const told = page.getByText("Your credits are used up.");
    await useUp(page);
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

  test("an operator sees what everybody owes and has, and has a claim tried again that failed", async () => {
    const { page, close, visit } = await visitors(world).newcomer();
    await useUp(page);
    const card = (name) => page.getByRole("region", { name, exact: true });
    const failed = card("Claims that failed");
    const retries = failed.getByRole("button", { name: /^Try again: the claim of/ });
    await eventually("its claim fails", async () => {
      await visit("operator/owing");
      await retries.first().or(failed.getByText("No claim failed.")).waitFor();
      return (await retries.count()) > 0;
    });
    await card("What is owed").getByText("not yet submitted").first().waitFor();
    const first = failed.getByRole("listitem").first();
    await first.getByText("It could not be submitted, after 1 try:").waitFor();
    await first.getByText(/refused|reached|dial/).waitFor();
    const row = card("Credits of people").getByRole("row").nth(1);
    await row.waitFor();
    await looksRight(page, "operator-owing");
    const [asked] = await Promise.all([
      page.waitForResponse((r) => r.url().endsWith("/retry")),
      retries.first().press("Enter"),
    ]);
    assert.equal(asked.status(), 204);
    await card("Credits of people").getByRole("searchbox").fill("did:key:zNobody");
    await page.keyboard.press("Enter");
    await card("Credits of people").getByText("Nobody is found.").waitFor();
    await close(["402"]);
  });
}
