// Connect your program: the key that the page makes opens the face, until it is revoked.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { check, tooSmall, visitors } from "./visitor.mjs";
import { eventually, startBrowser, startProgram } from "./world.mjs";

const world = {};
let program;
before(async () => {
  [program, world.browser] = await Promise.all([startProgram(), startBrowser()]);
  world.url = program.url;
});
after(async () => {
  await world.browser?.close();
  await program?.stop();
});

test("a key of the page is filled in, opens the face and is revoked at once", async () => {
  const { page, close } = await visitors(world).newcomer();
  await page.getByRole("link", { name: "Connect" }).click();
  await page.getByRole("button", { name: "Make a key" }).click();
  await page.getByText("It is shown this once").waitFor();
  await page.getByRole("button", { name: "Copy the key" }).click();
  const key = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(key, /^cak_/);
  await page.getByRole("button", { name: "Copy the settings for curl" }).click();
  const curl = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(curl.includes(`${world.url}/v1/chat/completions`) && curl.includes(key), curl);
  const models = () =>
    fetch(`${world.url}/v1/models`, { headers: { Authorization: `Bearer ${key}` } });
  assert.equal((await models()).status, 200);
  await eventually("nothing says that it was copied", async () => (await page.getByText("Copied", { exact: true }).count()) === 0);
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [360, 1280]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: 800 });
      await check(page, `connect, ${colorScheme}, ${width}`);
      if (width === 360) assert.deepEqual(await tooSmall(page), []);
      if (process.env.PICTURES)
        await page.screenshot({
          path: `${process.env.PICTURES}/connect-${colorScheme}-${width}.png`,
        });
    }
  }
  await page.getByRole("button", { name: "Revoke my-program" }).click();
  await page.getByRole("button", { name: "Revoke my-program" }).waitFor({ state: "detached" });
  await eventually("the key is refused", async () => (await models()).status === 401);
  await close();
});
