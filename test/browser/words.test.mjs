// The console in a language that nobody speaks: what is not between its brackets is text in the
// code, and what does not fit would not fit in Swahili either.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { paths } from "./paths.mjs";
import { check, fits, visitors } from "./visitor.mjs";
import { startBrowser, startProgram } from "./world.mjs";

const world = {};
let program;
before(async () => {
  [world.browser, program] = await Promise.all([startBrowser(), startProgram()]);
  world.url = program.url;
});
after(async () => {
  await world.browser?.close();
  await program?.stop();
});

/**
 * What can be seen of the program's own words outside of the brackets. What people and servers
 * wrote says so: by dir="auto", by translate="no", or as code.
 */
function unmarked(within) {
  const theirs = "[dir=auto], [translate=no], code, pre, kbd, time, .mono, script, style";
  const isWord = (text) => /\p{L}{2}/u.test(text.replaceAll("Castalia", ""));
  const found = [];
  for (const root of document.querySelectorAll(within)) {
    // A sentence may have elements in it: a bracket is open until it is closed.
    let depth = 0;
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      let outside = "";
      for (const letter of node.data) {
        if (letter === "⟦") depth++;
        if (depth === 0) outside += letter;
        if (letter === "⟧") depth--;
      }
      if (isWord(outside) && !node.parentElement.closest(theirs)) found.push(outside.trim());
    }
    for (const element of root.querySelectorAll("*")) {
      if (element.closest(theirs)) continue;
      for (const name of ["aria-label", "title", "placeholder", "alt"]) {
        const text = element.getAttribute(name) ?? "";
        if (isWord(text) && !text.includes("⟦")) found.push(`${name}="${text}"`);
      }
    }
  }
  return found;
}

/** Somebody with a key, whose browser was told to show the pseudo-language. */
async function reader(options) {
  const who = await visitors(world).stranger(options);
  await who.context.addInitScript(() => localStorage.setItem("castalia-language", "pseudo"));
  await who.visit("");
  const enter = who.page.getByRole("button", { name: "⟦Máké á kéý" });
  await enter.waitFor();
  return { ...who, enter };
}

for (const width of [360, 1280]) {
  test(`nothing is said but in the reader's language, at ${width} pixels`, async () => {
    const { page, visit, close, enter } = await reader({ viewport: { width, height: 740 } });
    assert.deepEqual(await page.evaluate(unmarked, "body"), [], "the first page");
    await check(page, "the first page");
    await enter.click();
    await page.getByRole("navigation", { name: "⟦Págéš" }).waitFor();
    for (const path of paths) {
      await visit(path);
      await page.locator("main h1").first().waitFor();
      await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));
      assert.deepEqual(await page.evaluate(unmarked, "body"), [], path);
      await fits(page, path);
    }
    await close();
  });
}

test("the ways to bring a key and to copy it are in the reader's language", async () => {
  const { page, visit, close, enter } = await reader({ viewport: { width: 360, height: 740 } });
  await page.locator("summary").click();
  await page.locator(".bring-key").waitFor();
  assert.deepEqual(await page.evaluate(unmarked, "body"), []);
  await enter.click();
  await page.getByRole("navigation", { name: "⟦Págéš" }).waitFor();
  await page.evaluate(() => localStorage.setItem("castalia-copy-asked-next", "1"));
  await visit("about");
  await page.getByRole("region", { name: "⟦Á çópý óf ýóúr kéý" }).getByRole("button").last().click();
  await page.getByRole("button", { name: "⟦Éxpórt thé kéý" }).click();
  for (const form of ["⟦Téxt", "⟦Wórdš", "⟦QR çódé"]) {
    await page.getByRole("radio", { name: form }).check();
    await page.locator(".key-copy :is(pre, ol, canvas)").waitFor();
    assert.deepEqual(await page.evaluate(unmarked, "body"), [], form);
    await fits(page, form);
  }
  await close();
});

test("the list of keys is in the reader's language", async () => {
  const { page, close, enter } = await reader();
  await enter.click();
  await page.getByRole("navigation", { name: "⟦Págéš" }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "⟦Kéýbóárd" }).waitFor();
  assert.deepEqual(await page.evaluate(unmarked, "dialog"), []);
  await close();
});

test("the address may name the language, and the document says which it is", async () => {
  const { page, visit, close } = await visitors(world).stranger({ locale: "de-DE" });
  await visit("?language=pseudo");
  await page.getByRole("button", { name: "⟦Máké á kéý" }).waitFor();
  await visit("");
  await page.getByRole("button", { name: "Make a key and enter" }).waitFor();
  assert.deepEqual(
    await page.evaluate(() => [document.documentElement.lang, document.documentElement.dir]),
    ["en", "ltr"],
  );
  await close();
});

test("what the browser asks for is shown, from right to left where the language runs so", async () => {
  const { page, visit, close } = await visitors(world).stranger({ locale: "ar-EG" });
  await visit("");
  await page.getByRole("button", { name: "أنشئ مفتاحًا وادخل" }).click();
  const pages = page.getByRole("navigation", { name: "الصفحات" });
  await pages.waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dir), "rtl");
  const [first, last] = await Promise.all([
    pages.getByRole("link").first().boundingBox(),
    pages.getByRole("link").last().boundingBox(),
  ]);
  assert.ok(first.x > last.x, "the first page is at the right");
  await close();
});
