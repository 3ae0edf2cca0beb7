// How a page looks: no wider than the window, and without serious faults for axe.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { axePath } from "./world.mjs";

/** Fails when the page has such a fault; SCREENSHOTS names a folder for pictures of it. */
export async function check(page, name) {
  if (process.env.SCREENSHOTS) {
    await page.waitForLoadState("networkidle");
    await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png` });
  }
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `${name} is ${overflow} pixels too wide`);
  await page.evaluate(readFileSync(axePath, "utf8"));
  const found = await page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document);
    return violations
      .filter((v) => v.impact === "serious" || v.impact === "critical")
      .map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`);
  });
  assert.deepEqual(found, [], `${name} has serious faults`);
}
