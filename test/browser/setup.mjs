// The setup link: how somebody becomes the owner of a deployment, and what they decide first.
import assert from "node:assert/strict";
import { test } from "node:test";
import { check, looksRight, visitors } from "./visitor.mjs";

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
    const said = await (await fetch(world.url, { headers: { Accept: "application/json" } })).json();
    assert.equal(said.message, "Mama Maji is running");
    const door = owner.page.getByRole("region", { name: "Who may come" });
    await door.getByText("ACCESS in the server's settings says so").waitFor();
    assert.ok(await door.getByLabel("Members may come in, and whoever has an invitation.").isChecked());
    assert.ok(await door.getByLabel("Everybody who makes a key may come in.").isDisabled());
    await owner.page.getByRole("button", { name: "Make an invitation for one person" }).click();
    await owner.page.getByText(/\/console\/invite#[A-Z2-7]{26}/).waitFor();
    await owner.page.getByRole("button", { name: "Test it" }).click();
    await owner.page
      .getByRole("status")
      .filter({ hasText: /answers/ })
      .waitFor();

    // Knowledge to start with: one key, and it is there.
    const knows = owner.page.getByRole("region", { name: "What it knows" });
    await knows.getByRole("button", { name: "Load a sample community" }).press("Enter");
    await knows.getByRole("status").filter({ hasText: "Sample community is there" }).waitFor();
    assert.equal(await knows.getByRole("button").count(), 0, "it is offered once more");

    // The address: this machine is enough to try it, and what others need is chosen here.
    const address = owner.page.getByRole("region", { name: "Address and HTTPS" });
    await address.getByText("Nobody told the server").waitFor();
    await address.getByText("This page came from this very machine").waitFor();
    await looksRight(owner.page, "setup");
    await address.getByLabel("Names for HTTPS").fill("oracle.local");
    await owner.page.keyboard.press("Enter");
    await address.getByRole("alert").getByText(/nobody gives out certificates below \.local/).waitFor();
    await address.getByLabel("Names for HTTPS").fill("oracle.example.org");
    await owner.page.keyboard.press("Enter");
    await address.getByText("It holds from now on.").waitFor();
    await address.getByText("The port of HTTPS is opened at the server’s next start.").waitFor();
    await address.getByText("oracle.example.org has no certificate yet.").waitFor();
    await address.getByText("https://oracle.example.org", { exact: true }).waitFor();
    await looksRight(owner.page, "setup-address");
    await address.getByLabel("Names for HTTPS").fill("");
    await owner.page.keyboard.press("Enter");
    await address.getByText("Nobody told the server").waitFor();

    // The telephone: the menu is told, and the simulator is a way to and fro.
    const telephone = owner.page.getByRole("region", { name: "Telephone" });
    await telephone.getByText(/^The built-in menu is live: \d+ screens\.$/).waitFor();
    await telephone.getByText("Welcome to Castalia").waitFor();
    const guide = await telephone.getByRole("link", { name: "Read how to connect a gateway" }).getAttribute("href");
    const [path, heading] = guide.split("#");
    assert.match(await (await fetch(world.url + path)).text(), new RegExp(`id="${heading}"`));
    await telephone.getByRole("link", { name: "Open the simulator" }).press("Enter");
    await owner.page.getByRole("button", { name: "Dial *2233#" }).click();
    await owner.page.getByText("1. Know More").waitFor();
    await owner.page.goBack();
    await owner.page.getByText("What was chosen at the first start").waitFor();
    await knows.getByText("Sample community is there").waitFor();

    // The role goes with the key: operators' pages open without any token.
    await owner.page.getByRole("link", { name: "Go to the oracle" }).click();
    await owner.page.getByRole("link", { name: "Mama Maji" }).waitFor();
    await owner.page.getByRole("link", { name: "Operator" }).click();
    await owner.page.getByText("What it needs").waitFor();

    // A role that is given, and taken away, shows on an open page of whom it is about.
    const helper = await stranger();
    await helper.visit("about");
    await enter(helper.page);
    const did = await helper.page
      .getByText(/^did:key:/)
      .first()
      .innerText();
    await helper.visit("operator");
    await helper.page.getByLabel("Operator token").waitFor();
    await owner.visit("operator/people");
    const roles = owner.page.getByRole("region", { name: "Roles" });
    await roles.getByLabel("DID of the operator").fill(did.trim());
    await roles.getByLabel("Name of the operator").fill("Helper");
    await roles.getByRole("button", { name: "Give the role" }).click();
    await helper.page.getByRole("navigation", { name: "Operator" }).waitFor();
    await roles.getByRole("button", { name: "Take the role of Helper away" }).click();
    await helper.page.getByLabel("Operator token").waitFor();
    await helper.close(["403", "404"]); // no member, who may not link a telephone either, and nobody's operator
    await owner.close(["400"]);

    const late = await stranger({ viewport: { width: 360, height: 740 }, colorScheme: "dark" });
    await late.visit(`setup#${link}`);
    await enter(late.page);
    await late.page.getByRole("alert").filter({ hasText: "was used or has expired" }).waitFor();
    await check(late.page, "the page of a setup link that is used up");
    await late.visit("setup");
    await late.page.getByRole("heading", { name: "This link is not complete" }).waitFor();
    await late.close(["410", "404"]);
  });
}
