// Invitations: the door of a deployment that asks for one, as people meet it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, check, say, visitors } from "./visitor.mjs";

/** A program that lets in who has an invitation. */
export const guarded = { ACCESS: "invite" };

export function inviteTests(world) {
  const { stranger } = visitors(world);

  async function invite() {
    const reply = await fetch(`${world.url}/operator/invitations`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: "{}",
    });
    assert.equal(reply.status, 201);
    return (await reply.json()).code;
  }
  async function enter(page) {
    await page.getByRole("button", { name: "Make a key and enter" }).click();
  }

  test("an invitation lets in one person, who makes a key on the way", async () => {
    const code = await invite();
    const invited = await stranger();
    await invited.visit(`invite#${code}`);
    await enter(invited.page);
    await say(invited.page, "help");
    await answered(invited.page, "/tool");
    // The link again is no harm: it counts once for each key.
    await invited.visit(`invite#${code}`);
    await invited.page.getByRole("navigation", { name: "Pages" }).waitFor();
    await invited.close();

    const late = await stranger({ viewport: { width: 360, height: 740 }, colorScheme: "dark" });
    await late.visit(`invite#${code}`);
    await enter(late.page);
    await late.page.getByRole("alert").filter({ hasText: "ask the operator for a new one" }).waitFor();
    await check(late.page, "the page of a link that is used up");
    await late.page.getByRole("button", { name: "Try again" }).click();
    await late.page.getByRole("alert").waitFor();
    await late.close(["410"]);
  });

  test("a link that was cut says so", async () => {
    const { page, visit, close } = await stranger({ viewport: { width: 360, height: 740 } });
    await visit("invite#ABC");
    await enter(page);
    await page.getByRole("heading", { name: "This link is not complete" }).waitFor();
    await check(page, "the page of a link that was cut");
    assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0);
    await close();
  });
}
