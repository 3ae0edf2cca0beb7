// The operator's page of people, where who comes in has to be let in.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, check, say, tooSmall, visitors } from "./visitor.mjs";

/** Somebody who was never here. */
const friend = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";

export function peopleTests(world) {
  const { newcomer, stranger } = visitors(world);

  async function people(options) {
    const who = await newcomer(options);
    await who.visit("operator/people");
    const { page } = who;
    const card = (name) => page.getByRole("region", { name, exact: true });
    await card("Members").waitFor();
    return { ...who, invitations: card("Invitations"), members: card("Members"), roles: card("Roles") };
  }

  test("who is invited on the page of people comes in, is counted there, and is sent away", async () => {
    const { page, invitations, members, close } = await people();
    await invitations.getByLabel("For whom").fill("The water committee");
    await page.keyboard.press("Enter");
    const link = await invitations.locator(".invitation-link").innerText();
    const own = invitations.getByRole("listitem").filter({ hasText: "The water committee" });
    await own.getByText("0 of 1 used, ends in 7 days").waitFor();

    const guest = await stranger();
    await guest.page.goto(link);
    await guest.page.getByRole("button", { name: "Make a key and enter" }).click();
    await say(guest.page, "help");
    await answered(guest.page, "/tool");
    await guest.visit("about");
    const did = await guest.page.locator(".with-copy .mono, .mono.with-copy span").first().innerText();

    await page.reload();
    await own.getByText("1 of 1 used; it has been used up").waitFor();
    const name = `The water committee, ${did.slice(0, 16)}…${did.slice(-6)}`;
    await members.getByRole("button", { name: `Usage of ${name}` }).click();
    await members.getByText(/^(In the last 30 days: |No model was asked)/).waitFor();
    await members.getByRole("button", { name: `Remove ${name}` }).click();
    await page.getByText("Within a second every node refuses them").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await members.getByText(did.slice(-6)).waitFor({ state: "detached" });

    const refused = guest.page.waitForResponse((r) => r.url().includes("/sessions") && r.status() === 403);
    await guest.visit("chat");
    await refused;
    await guest.close(["403", "WebSocket", "websocket"]);
    await close();
  });

  test("members, roles and invitations are kept with the keyboard alone", async () => {
    const { page, invitations, members, roles, close } = await people();
    await members.getByLabel("Their DID").focus();
    await page.keyboard.type(friend);
    await page.keyboard.press("Tab");
    await page.keyboard.type("Ada");
    await page.keyboard.press("Enter");
    await members.getByText("Ada", { exact: true }).waitFor();
    await members.getByRole("searchbox").fill("Nobody");
    await page.keyboard.press("Enter");
    await members.getByText("Nobody is found.").waitFor();
    await members.getByRole("searchbox").fill("ad");
    await page.keyboard.press("Enter");
    await members.getByText("Ada", { exact: true }).waitFor();

    await roles.getByLabel("DID of the operator").focus();
    await page.keyboard.type("nobody");
    await page.keyboard.press("Enter");
    await roles.getByRole("alert").waitFor();
    await roles.getByLabel("DID of the operator").fill(friend);
    await page.keyboard.press("Tab");
    await page.keyboard.type("Ada");
    await page.keyboard.press("Enter");
    await roles.getByRole("listitem").getByText("viewer", { exact: true }).waitFor();
    assert.equal(await roles.getByRole("alert").count(), 0);
    await members.getByText("viewer", { exact: true }).waitFor();
    await roles.getByRole("button", { name: "Take the role of Ada away" }).press("Enter");
    await members.getByText("viewer", { exact: true }).waitFor({ state: "detached" });

    await invitations.getByLabel("How many people").fill("3");
    await page.keyboard.press("Enter");
    await invitations.getByText("0 of 3 used").waitFor();
    await invitations.getByRole("button", { name: "Withdraw the open invitation" }).press("Enter");
    await invitations.getByText("0 of 3 used; it was withdrawn").waitFor();

    await members.getByRole("button", { name: /^Remove Ada/ }).press("Enter");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await members.getByText("Ada", { exact: true }).waitFor({ state: "detached" });
    await close(["400"]);
  });

  test("an operator gives one person other limits, takes an export of them, and erases them", async () => {
    const { page, members, close } = await people();
    const everybody = page.getByRole("region", { name: "People", exact: true });
    await members.getByLabel("Their DID").fill(friend);
    await members.getByLabel("Who that is").fill("Grace");
    await members.getByRole("button", { name: "Add a member" }).click();
    await everybody.getByRole("button", { name: "Limits of Grace" }).click();
    await everybody.getByLabel("Messages a day").fill("7");
    await everybody.getByRole("button", { name: "Save limits" }).click();
    await everybody.getByText("0 of 7").waitFor();
    await check(page, "the limits of a person");
    await page.setViewportSize({ width: 360, height: 740 });
    await check(page, "the limits of a person at 360");
    assert.deepEqual(await tooSmall(page), []);
    await everybody.getByRole("button", { name: "Back to what everybody may have" }).click();
    await everybody.getByText("0 of 7").waitFor({ state: "detached" });

    await everybody.getByRole("button", { name: "Export or erase Grace" }).click();
    const dialog = page.getByRole("dialog");
    await check(page, "a question before erasing");
    const download = page.waitForEvent("download");
    await dialog.getByRole("button", { name: "Export everything" }).click();
    assert.equal((await download).suggestedFilename(), `castalia-${friend.slice(-6)}.tar.gz`);
    const erase = dialog.getByRole("button", { name: "Erase", exact: true });
    await dialog.getByRole("textbox").fill("nobody");
    assert.equal(await erase.isDisabled(), true);
    await dialog.getByRole("textbox").fill(friend.slice(-6));
    await erase.click();
    await dialog.getByText("What stays:").waitFor();
    await check(page, "the receipt of erasing");
    await dialog.getByRole("button", { name: "Close the receipt" }).click();
    await everybody.getByText("blocked", { exact: true }).waitFor();
    await everybody.getByRole("button", { name: /^Let .* come in again$/ }).click();
    await everybody.getByText("blocked", { exact: true }).waitFor({ state: "detached" });
    await close();
  });

  for (const colorScheme of ["light", "dark"]) {
    test(`the page of people is accessible in ${colorScheme}, and fits 360 pixels as well as 1280`, async () => {
      const viewport = { width: 360, height: 740 };
      const { page, invitations, members, close } = await people({ colorScheme, viewport, reducedMotion: "reduce" });
      await members.getByLabel("Their DID").fill(friend);
      await members.getByLabel("Who that is").fill("The secretary of the committee for water and wells");
      await members.getByRole("button", { name: "Add a member" }).click();
      await members.getByRole("button", { name: /^Usage of The secretary/ }).click();
      await members.getByText("No model was asked in the last 30 days.").waitFor();
      await invitations.getByRole("button", { name: "Make an invitation" }).click();
      await invitations.locator(".invitation-link").waitFor();
      for (const width of [360, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        await check(page, `the page of people in ${colorScheme} at ${width}`);
      }
      await page.setViewportSize(viewport);
      assert.deepEqual(await tooSmall(page), []);
      await members.getByRole("button", { name: /^Remove The secretary/ }).click();
      await check(page, `a question before removing in ${colorScheme}`);
      await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
      await members.getByText("The secretary").waitFor({ state: "detached" });
      await close();
    });
  }
}
