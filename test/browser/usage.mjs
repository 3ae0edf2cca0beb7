// The operator's pictures of what was said and what it cost.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, check, say, tooSmall, visitors } from "./visitor.mjs";
import { eventually } from "./world.mjs";

export function usageTests(world) {
  const { newcomer } = visitors(world);

  /** The page of usage, after something was said. */
  async function usage(options) {
    const who = await newcomer(options);
    await say(who.page, "help");
    await answered(who.page, "/tool");
    await eventually("the message is counted", async () => {
      await who.visit("operator/usage");
      const shown = who.page.getByRole("img", { name: "Messages per day" });
      await shown.waitFor();
      return !(await shown.locator("desc").textContent()).includes("Nothing");
    });
    return { ...who, card: (name) => who.page.getByRole("region", { name, exact: true }) };
  }

  test("what was said is drawn, and told in numbers to who cannot see it", async () => {
    const { page, card, close } = await usage();
    const messages = card("Messages per day");
    assert.match(await messages.getByRole("img").locator("desc").textContent(), /^\d+ in all, most on .+: \d+\.$/);
    assert.equal(await messages.getByRole("row").count(), 31, "thirty days and a head, also while they are out of sight");
    const last = messages.getByRole("row").last().getByRole("cell").last();
    assert.notEqual(await last.innerText(), "0");

    await page.getByRole("combobox", { name: "Days" }).selectOption("90");
    await eventually("ninety days are shown", async () => (await messages.getByRole("row").count()) === 91);
    await page.getByLabel("Split by").selectOption("model");
    await messages.waitFor();
    await page.getByLabel("Show the numbers as tables").check();
    const box = await messages.getByRole("table").boundingBox();
    assert.ok(box.width > 100 && box.height > 100, "the numbers are in sight");
    await card("Telephone sessions per day").waitFor();

    const spenders = card("Who spent most");
    await spenders.getByRole("row").nth(1).waitFor();
    assert.doesNotMatch(await spenders.innerText(), /help/);
    await spenders.getByLabel("Month").selectOption({ index: 11 });
    await spenders.getByText("Nobody asked a model in this month.").waitFor();
    await close();
  });

  for (const colorScheme of ["light", "dark"]) {
    test(`the pictures of usage are accessible in ${colorScheme}, from 360 to 1920 pixels`, async () => {
      const { page, close } = await usage({ colorScheme, reducedMotion: "reduce" });
      for (const width of [360, 768, 1280, 1920]) {
        await page.setViewportSize({ width, height: 800 });
        await check(page, `usage in ${colorScheme} at ${width}`);
      }
      await page.setViewportSize({ width: 360, height: 740 });
      assert.deepEqual(await tooSmall(page), []);
      await page.getByLabel("Show the numbers as tables").check();
      await check(page, `the tables of usage in ${colorScheme} at 360`);
      await close();
    });
  }

  test("days run from right to left where people read so", async () => {
    const { page, visit, close } = await usage();
    await visit("operator/usage?language=ar");
    const shown = page.getByRole("img").first();
    await shown.waitFor();
    const flipped = await shown.evaluate((e) => new DOMMatrix(getComputedStyle(e).transform).a);
    assert.equal(flipped, -1);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `usage in Arabic is ${overflow} pixels too wide`);
    await close();
  });
}
