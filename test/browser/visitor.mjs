// People who use the console in a test.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { axePath, engine, eventually } from "./world.mjs";

/** Opens pages of one deployment in one browser. */
export function visitors(world) {
  /** A fresh page of somebody new, and everything that went wrong on it. */
  async function stranger(options = {}) {
    const context = await world.browser.newContext({ permissions: ["clipboard-read", "clipboard-write"], ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    const faults = [];
    // Firefox asks by itself for an icon of pages whose policy lets nothing in, and says so.
    const isItsOwn = (text) => /blocked the loading of a resource \(img-src\) at \S+\/favicon\.ico /.test(text);
    const note = (text) => isItsOwn(text) || faults.push(text);
    page.on("pageerror", (error) => note(error.message));
    page.on("console", (message) => {
      if (message.type() === "error") note(`${message.text()} (${message.location?.().url ?? "no address"})`);
    });
    page.on("request", (request) => {
      const { host, protocol } = new URL(request.url());
      // The browser's own viewer of PDF asks the browser itself.
      const isWithin = /^(blob|chrome|chrome-extension):$/.test(protocol);
      if (!isWithin && host && host !== new URL(world.url).host) faults.push(`asked ${host}`);
    });
    return {
      page,
      context,
      faults,
      /** Goes to a page of the console. */
      visit: (path) => page.goto(`${world.url}/console/${path}`),
      close: async (allowed = []) => {
        const rest = faults.filter((f) => !allowed.some((a) => f.includes(a)));
        await context.close();
        assert.deepEqual(rest, []);
      },
    };
  }
  /** Somebody with a key, on the first page. */
  async function newcomer(options = {}) {
    const who = await stranger(options);
    await who.visit("");
    await who.page.getByRole("button", { name: "Make a key and enter" }).click();
    await who.page.getByRole("navigation", { name: "Pages" }).waitFor();
    return who;
  }
  return { stranger, newcomer };
}

/** Begins a conversation, or goes on with it, and waits for the answer's end. */
export async function say(page, text) {
  const first = page.getByLabel("Your first message");
  const entry = page.getByLabel("Your message");
  await first.or(entry).first().waitFor();
  if (await first.isVisible()) await page.getByRole("button", { name: "New conversation" }).click();
  // The page's own tools can be called from then on.
  await page.getByText("Live", { exact: true }).waitFor();
  await entry.fill(text);
  await page.keyboard.press("Enter");
}

export async function answered(page, want) {
  const answer = page.locator("article.castalia-message.ai").last();
  await eventually(`the oracle has answered ${want}`, async () => {
    const text = await answer.textContent();
    return text.includes(want) && !(await page.getByRole("button", { name: "Stop the answer" }).isVisible());
  });
  return answer;
}

/** What is cut off at the right: wider than the window, and nothing around it scrolls or says so by an ellipsis. */
function cutOff() {
  const fits = (e) => e.getBoundingClientRect().right <= innerWidth + 1;
  const ends = (e) => {
    const { overflowX, textOverflow } = getComputedStyle(e);
    return fits(e) && (overflowX === "auto" || overflowX === "scroll" || textOverflow === "ellipsis" || e.matches(".visually-hidden, .castalia-hidden"));
  };
  const inside = (e) => e !== document.body && (ends(e) || inside(e.parentElement));
  return [...document.body.querySelectorAll("*")]
    .filter((e) => e.getBoundingClientRect().width > 0 && !fits(e) && !inside(e))
    .map((e) => e.outerHTML.slice(0, 200));
}

/** What sticks out of the card it is on, unless something in between scrolls. */
function sticksOut() {
  const scrolls = (e) => ["auto", "scroll", "hidden"].includes(getComputedStyle(e).overflowX);
  const bounded = (e, card) => e !== card && (scrolls(e) || bounded(e.parentElement, card));
  return [...document.querySelectorAll(".card")]
    .filter((card) => !scrolls(card))
    .flatMap((card) => {
      const edge = card.getBoundingClientRect().right + 1;
      return [...card.querySelectorAll("*")].filter(
        (e) => e.getBoundingClientRect().right > edge && !e.matches(".visually-hidden, .castalia-hidden") && !bounded(e.parentElement, card),
      );
    })
    .map((e) => e.outerHTML.slice(0, 200));
}

/** What is too small for a finger. Links in a text may be; a box is as large as its label, a row's link as its row. */
export function tooSmall(page) {
  return page.evaluate(() => {
    const around = (e) => e.closest("label:has(> :is([type=checkbox], [type=radio]))") ?? (e.matches("td a") ? e.closest("tr") : e);
    return [...document.querySelectorAll("main :is(button, a, select, input, textarea, summary), header :is(button, a)")]
      .filter((e) => !e.closest("p, .castalia-markdown li, .visually-hidden, .castalia-hidden"))
      .map((e) => ({ box: around(e).getBoundingClientRect(), html: e.outerHTML.slice(0, 120) }))
      .filter(({ box }) => box.width > 1 && (box.width < 39.5 || box.height < 39.5))
      .map(({ box, html }) => `${Math.round(box.width)} × ${Math.round(box.height)}: ${html}`);
  });
}

/** Fits the window, and everything in it its place. */
export async function fits(page, name) {
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `${name} is ${overflow} pixels too wide`);
  assert.deepEqual(await page.evaluate(cutOff), [], `${name} is cut off`);
  assert.deepEqual(await page.evaluate(sticksOut), [], `${name} sticks out of its card`);
}

/** Fits the window, and axe finds no serious fault; rules says which rules of axe, if not all. */
export async function check(page, name, rules) {
  await fits(page, name);
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(readFileSync(axePath, "utf8"));
  const found = await page.evaluate(async (runOnly) => {
    // A colour on its way to another is neither.
    const passing = document.getAnimations().filter((a) => Number.isFinite(a.effect?.getComputedTiming().endTime));
    await Promise.allSettled(passing.map((a) => a.finished));
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"], ...(runOnly && { runOnly }) });
    return violations
      .filter((v) => v.impact === "serious" || v.impact === "critical")
      .map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`);
  }, rules);
  assert.deepEqual(found, [], `${name} has serious faults`);
}

/** The rules of axe that look at colours. The others find in the dark what they found in the light. */
const ofColours = ["color-contrast", "link-in-text-block"];

/** The colours that one page is looked at in: few engines change them on a page that is open. */
export const walks = engine === "chromium" ? [["light", "dark"]] : [["light"], ["dark"]];

/** Checks what a page shows in the colours of one walk and in each size; also is called at each. */
export async function checkLooks(page, name, schemes, sizes, also) {
  for (const colorScheme of schemes) {
    if (schemes.length > 1) await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    if (engine === "chromium") {
      const isDark = await page.evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
      assert.equal(isDark, colorScheme === "dark", `${name} is not looked at in ${colorScheme}`);
    }
    for (const size of sizes) {
      await page.setViewportSize(size);
      await check(page, `${name}, ${colorScheme}, ${size.width}`, colorScheme === schemes[0] ? undefined : ofColours);
      await also?.(size.width, colorScheme);
    }
  }
}

/** Looks at what a page shows in two widths, and in the colours that can be had without opening it again. */
export function looksRight(page, name) {
  const sizes = [360, 1280].map((width) => ({ width, height: 800 }));
  return checkLooks(page, name, walks[0], sizes, async (width, colorScheme) => {
    if (width === 360) assert.deepEqual(await tooSmall(page), []);
    if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${name}-${colorScheme}-${width}.png`, fullPage: true });
  });
}

/** What was copied, as somebody pastes it: few engines let a page read it. */
export async function copied(page) {
  await page.evaluate(() => {
    const field = document.createElement("textarea");
    field.id = "pasted-here";
    (document.querySelector("dialog[open]") ?? document.body).append(field);
    field.focus();
  });
  // What is copied may be on its way still.
  const text = await eventually("it is pasted", async () => {
    await page.keyboard.press("Control+v");
    return page.evaluate(() => document.getElementById("pasted-here").value);
  });
  await page.evaluate(() => document.getElementById("pasted-here").remove());
  return text;
}
