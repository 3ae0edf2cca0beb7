// The components in a page of somebody else's: a conversation of ten thousand messages, both directions, both themes.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { servePage } from "./page.mjs";
import { check, tooSmall } from "./visitor.mjs";
import { eventually, startBrowser } from "./world.mjs";

/** More are never in the page. */
const most = 60;

let browser, site;
before(async () => {
  [browser, site] = await Promise.all([startBrowser(), servePage("thread")]);
});
after(async () => {
  await browser?.close();
  await site?.stop();
});

async function open(query = "", options = {}) {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(20_000);
  const errors = [];
  page.on("pageerror", (error) => errors.push(error.message));
  await page.goto(`${site.url}?${query}`);
  await page.locator("article.castalia-message").first().waitFor();
  return { page, errors };
}

const mounted = (page) => page.locator("article.castalia-message").count();

/** What is seen first, and where. */
const seen = (page) =>
  page.evaluate(() => {
    const log = document.querySelector("[role=log]");
    const { top } = log.getBoundingClientRect();
    for (const item of document.querySelectorAll("[data-message]")) {
      const box = item.getBoundingClientRect();
      if (box.bottom > top + 1) return { id: item.dataset.message, at: Math.round(box.top - top) };
    }
    return undefined;
  });

const scroll = (page, share) =>
  page.evaluate((to) => {
    const log = document.querySelector("[role=log]");
    log.scrollTop = log.scrollHeight * to;
  }, share);

test("of ten thousand messages at most sixty are in the page, wherever its reader is", async () => {
  const { page, errors } = await open();
  await page.getByRole("heading", { name: "10000 messages" }).waitFor();
  await page.getByText(/^Message 9999: /).waitFor();
  assert.ok((await mounted(page)) <= most);
  for (const share of [0.9, 0.5, 0.13, 0]) {
    await scroll(page, share);
    const wanted = 10_000 * share;
    await eventually(`${share} of it is shown`, async () => {
      const first = await seen(page);
      return first && Math.abs(Number(first.id.slice(1)) - wanted) < 700;
    });
    assert.ok((await mounted(page)) <= most);
  }
  await page.getByText(/^Message 0: /).waitFor();
  await page.getByRole("button", { name: "Go to the newest message" }).click();
  await page.getByText(/^Message 9999: /).waitFor();
  await eventually("the end is in sight", () =>
    page.evaluate(() => {
      const log = document.querySelector("[role=log]");
      return log.scrollHeight - log.scrollTop - log.clientHeight < 2;
    }),
  );
  assert.ok((await mounted(page)) <= most);
  assert.deepEqual(errors, []);
  await page.close();
});

test("who wheels up by steps sees every message once, in its order", async () => {
  const { page } = await open();
  await page.getByText(/^Message 9999: /).waitFor();
  await page.locator("[role=log]").hover();
  let last = 10_000;
  for (let step = 0; step < 60; step++) {
    await page.mouse.wheel(0, -400);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const first = await seen(page);
    const number = Number(first.id.slice(1));
    assert.ok(number <= last && number > last - 40, `from ${last} to ${number}`);
    last = number;
    assert.ok((await mounted(page)) <= most);
  }
  assert.ok(last < 9970, `it went up, to ${last}`);
  await page.close();
});

test("what is read stays where it is while an answer is written, and what is edited stays in the page", async () => {
  const { page } = await open();
  await page.getByText(/^Message 9999: /).waitFor();
  await page.getByText(/^Message 9998: /).hover();
  await page.locator("[data-message=m9998]").getByRole("button", { name: "Edit the question" }).click();
  const field = page.getByLabel("The question", { exact: true });
  await field.fill("half a thought");
  await scroll(page, 0.5);
  await eventually("the middle is shown", async () => Math.abs(Number((await seen(page)).id.slice(1)) - 5000) < 700);
  assert.equal(await field.inputValue(), "half a thought");
  assert.ok((await mounted(page)) <= most);
  await page.locator("[role=log]").focus();
  await eventually("what nobody is at is let go", async () => (await field.count()) === 0);

  // The answer begins at the end, for that is where it was asked; its reader goes up then.
  const writing = page.evaluate(() => window.write(300));
  await page.getByText("word20", { exact: false }).first().waitFor();
  await scroll(page, 0.5);
  await eventually("the middle is shown", async () => Math.abs(Number((await seen(page)).id.slice(1)) - 5000) < 700);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const before = await seen(page);
  await writing;
  assert.deepEqual(await seen(page), before);
  assert.ok((await mounted(page)) <= most);
  await page.close();
});

test("what stands behind the last message covers none of its buttons", async () => {
  const { page } = await open("messages=30&failed=1");
  const behind = page.getByRole("button", { name: "Try again" });
  await behind.waitFor();
  const button = page.locator(".castalia-last").getByRole("button", { name: "Ask again" });
  const [above, below] = await Promise.all([button, behind].map((one) => one.boundingBox()));
  assert.ok(above.y + above.height <= below.y, `the button ends at ${above.y + above.height}, the next one begins at ${below.y}`);
  await page.close();
});

for (const dir of ["ltr", "rtl"]) {
  for (const theme of ["light", "dark"]) {
    test(`they fit a telephone and satisfy axe, ${dir}, ${theme}`, async () => {
      for (const viewport of [
        { width: 360, height: 740 },
        { width: 1100, height: 800 },
      ]) {
        const { page, errors } = await open(`messages=30&approval=1&dir=${dir}&theme=${theme}`, { viewport });
        await page.getByRole("group", { name: "May the oracle use send letter?" }).waitFor();
        await check(page, `${dir} ${theme} ${viewport.width}`);
        if (viewport.width < 400) assert.deepEqual(await tooSmall(page), []);
        if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${dir}-${theme}-${viewport.width}.png` });
        assert.deepEqual(errors, []);
        await page.close();
      }
    });
  }
}
