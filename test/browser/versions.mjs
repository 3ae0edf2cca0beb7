// Turns that are asked anew, in the console: edited, asked again, switched and rated.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, check, say, tooSmall, visitors } from "./visitor.mjs";
import { eventually } from "./world.mjs";

const texts = (page, kind) => page.locator(`article.castalia-message.${kind} ${kind === "human" ? ".castalia-bubble" : ".castalia-markdown"}`).allTextContents();

export function versionTests(world) {
  const { newcomer } = visitors(world);

  test("a question is edited, by keyboard, and the version before is a key away", async () => {
    const { page, close } = await newcomer();
    await say(page, "tea");
    await answered(page, "You said: tea");
    await say(page, "milk");
    await answered(page, "You said: milk");
    await page.getByRole("button", { name: "Edit the question" }).first().focus();
    await page.keyboard.press("Enter");
    const field = page.getByRole("textbox", { name: "The question" });
    assert.equal(await field.inputValue(), "tea");
    await page.keyboard.press("Escape");
    await field.waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), "Edit the question");
    await page.keyboard.press("Enter");
    await field.fill("coffee");
    await page.keyboard.press("Enter");
    await answered(page, "You said: coffee");
    assert.deepEqual(await texts(page, "human"), ["coffee"]);
    const second = page.getByRole("group", { name: "Version 2 of 2" });
    await second.getByRole("button", { name: "Earlier version" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("group", { name: "Version 1 of 2" }).waitFor();
    await eventually("what followed is there", async () => (await texts(page, "human")).join() === "tea,milk");
    await eventually("the switch has the focus", () => page.evaluate(() => document.activeElement.ariaLabel === "Later version"));
    await page.reload();
    await page.getByRole("group", { name: "Version 1 of 2" }).waitFor();
    assert.deepEqual(await texts(page, "ai"), ["You said: tea", "You said: milk"]);
    await close();
  });

  test("an answer is asked again and rated, and stays so", async () => {
    const { page, close } = await newcomer();
    await say(page, "water");
    await answered(page, "You said: water");
    const before = world.model.requests.length;
    await page.getByRole("button", { name: "Ask again" }).click();
    await page.getByRole("group", { name: "Version 2 of 2" }).waitFor();
    await answered(page, "You said: water");
    assert.ok(world.model.requests.length > before, "the model was asked again");
    assert.deepEqual(await texts(page, "human"), ["water"]);
    assert.equal(await page.evaluate(() => document.activeElement.id), "message");
    const bad = page.getByRole("button", { name: "Bad answer" });
    await bad.click();
    await page.locator("[aria-label='Bad answer'][aria-pressed=true]").waitFor();
    await page.reload();
    await page.locator("[aria-label='Bad answer'][aria-pressed=true]").waitFor();
    await bad.click();
    await page.locator("[aria-label='Bad answer'][aria-pressed=false]").waitFor();
    await close();
  });

  test("what failed is tried again in its place", async () => {
    const { page, close } = await newcomer();
    await say(page, "fail with 503");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("group", { name: "Version 2 of 2" }).waitFor();
    assert.deepEqual(await texts(page, "human"), ["fail with 503"]);
    await page.getByRole("button", { name: "Try again" }).waitFor();
    await say(page, "water");
    await answered(page, "You said: water");
    await page.getByRole("button", { name: "Try again" }).waitFor({ state: "detached" });
    // What would fail again is not offered again; what was said before is read out no more.
    await say(page, "fail with 400");
    await page.getByRole("alert").getByText("tell whoever runs this oracle").waitFor();
    assert.equal(await page.getByRole("button", { name: "Try again" }).count(), 0);
    await page.reload();
    await page.locator(".castalia-notice").getByText("tell whoever runs this oracle").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    await close();
  });

  for (const colorScheme of ["light", "dark"]) {
    test(`versions fit a telephone, ${colorScheme}`, async () => {
      const { page, close } = await newcomer({ viewport: { width: 360, height: 640 }, hasTouch: true, colorScheme });
      await say(page, "a question that is long enough for more than one line on a small window");
      await answered(page, "You said: a question");
      await page.getByRole("button", { name: "Ask again" }).click();
      await page.getByRole("group", { name: "Version 2 of 2" }).waitFor();
      await answered(page, "You said: a question");
      await check(page, "versions");
      assert.deepEqual(await tooSmall(page), []);
      if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/versions-${colorScheme}.png` });
      await page.getByRole("button", { name: "Edit the question" }).click();
      await check(page, "a question that is edited");
      assert.deepEqual(await tooSmall(page), []);
      if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/edit-${colorScheme}.png` });
      await close();
    });
  }
}
