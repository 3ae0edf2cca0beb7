// The setup link: how somebody becomes the owner of a deployment, and what they decide first.
import assert from "node:assert/strict";
import { test } from "node:test";
import { check, visitors } from "./visitor.mjs";

/** A program on a server, where no address makes an operator. */
export const served = { CASTALIA_ENV: "production", ACCESS: "invite" };

export function setupTests(world) {
  const { stranger } = visitors(world);

  async function enter(page) {
    await page.getByRole("button", { name: "Make a key and enter" }).click();
  }

  test("a setup link makes one owner, who names the oracle, invites and tests the model", async () => {
    const link = world.program.run("setup-link").trim().split("#")[1];
    assert.match(link, /^[A-Z2-7]{26}$/);
    const owner = await stranger();
    await owner.visit(`setup#${link}`);
    await enter(owner.page);
    await owner.page.getByRole("heading", { name: "You are the owner" }).waitFor();
    assert.equal(new URL(owner.page.url()).hash, "", "the code stays in the address");

    await owner.page.getByLabel("Its name").fill("Mama Maji");
    await owner.page.getByLabel("The language that it answers in").fill("Swahili");
    await owner.page.getByLabel("What it is for").fill("It knows the wells of the valley.");
    await owner.page.getByRole("region", { name: "Who it is" }).getByRole("button", { name: "Keep it" }).click();
    await owner.page.getByText("The oracle knows it.").waitFor();
    const door = owner.page.getByRole("region", { name: "Who may come" });
    await door.getByText("ACCESS in the server's settings says so").waitFor();
    assert.ok(await door.getByLabel("Members may come in, and whoever has an invitation.").isChecked());
    assert.ok(await door.getByLabel("Everybody who makes a key may come in.").isDisabled());
    await owner.page.getByRole("button", { name: "Make an invitation for one person" }).click();
    await owner.page.getByText(/\/console\/invite#[A-Z2-7]{26}/).waitFor();
    await owner.page.getByRole("button", { name: "Test it" }).click();
    await owner.page.getByRole("status").filter({ hasText: /answers/ }).waitFor();
    await check(owner.page, "the setup page");
    await owner.page.setViewportSize({ width: 360, height: 740 });
    await check(owner.page, "the setup page on a telephone");

    // The role goes with the key: operators' pages open without any token.
    await owner.page.getByRole("link", { name: "Go to the oracle" }).click();
    await owner.page.getByRole("link", { name: "Operator" }).click();
    await owner.page.getByText("What it needs").waitFor();
    await owner.close();

    const late = await stranger({ viewport: { width: 360, height: 740 }, colorScheme: "dark" });
    await late.visit(`setup#${link}`);
    await enter(late.page);
    await late.page.getByRole("alert").filter({ hasText: "was used or has expired" }).waitFor();
    await check(late.page, "the page of a setup link that is used up");
    await late.close(["410"]);
  });
}
