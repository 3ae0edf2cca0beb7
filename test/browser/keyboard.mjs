// What somebody does who has a keyboard and no mouse, or who listens instead of looking.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, say, visitors } from "./visitor.mjs";
import { eventually } from "./world.mjs";

/** What has the focus, and whether that can be seen. */
function focus(page) {
  return page.evaluate(() => {
    const element = document.activeElement;
    const around = element.closest(".castalia-composer") ?? element;
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    const isOutlined = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
    return {
      name: (element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent).trim(),
      isSeen: isOutlined || getComputedStyle(around).boxShadow.includes("3px"),
    };
  });
}

async function expectFocus(page, name) {
  await eventually(`the focus is on ${name}`, async () => name.test((await focus(page)).name));
  assert.ok((await focus(page)).isSeen, `nobody sees that ${name} has the focus`);
}

/** Presses a key until the focus is there; no page has more stops than this. */
async function reach(page, name, key = "Tab") {
  for (let i = 0; i < 80; i++) {
    await page.keyboard.press(key);
    if (name.test((await focus(page)).name)) return expectFocus(page, name);
  }
  assert.fail(`${key} does not lead to ${name}`);
}

export function keyboardTests(world) {
  const { newcomer, stranger } = visitors(world);

  test("keys alone make a key, send, stop, choose a model and find a conversation again", async () => {
    const { page, visit, close } = await stranger();
    const keys = page.keyboard;
    await visit("");
    await page.getByRole("button", { name: "Make a key and enter" }).waitFor();
    await reach(page, /^Make a key/);
    await keys.press("Enter");
    await page.getByRole("heading", { name: /^Ask/ }).waitFor();
    assert.match(await page.title(), /^Chat/);

    await keys.press("/");
    await expectFocus(page, /^Your first message$/);
    await keys.type("count to 500 every 5 hold at 20");
    await keys.press("Enter");
    await expectFocus(page, /^Your message$/);
    await page.locator("article.castalia-message.ai").getByText("n20").waitFor();
    await keys.press("Escape");
    await page.getByRole("button", { name: "Send" }).waitFor();
    world.model.release();
    await expectFocus(page, /^Your message$/);

    await reach(page, /^Model/, "Shift+Tab");
    await keys.press("ArrowDown");
    assert.equal(await page.getByLabel("Model").inputValue(), "large");

    await reach(page, /^Messages$/);
    await keys.press("n");
    await eventually("the conversation is new", async () => (await page.locator("article.castalia-message").count()) === 0);
    await expectFocus(page, /^Your message$/);
    await page.getByText("Live", { exact: true }).waitFor();
    await keys.type("which model?");
    await keys.press("Enter");
    await answered(page, "You said: which model?");
    const used = world.model.requests.filter((r) => JSON.stringify(r.messages).includes("which model?") && r.tools);
    assert.equal(used.at(-1).model, "large");

    await reach(page, /^Attach files$/, "Shift+Tab");
    await keys.press("s");
    await expectFocus(page, /^Search conversations$/);
    await keys.type("n20");
    await page.locator(".castalia-sessions mark", { hasText: "n20" }).waitFor();
    await reach(page, /n20/);
    await keys.press("Enter");
    await page.locator("article.castalia-message.ai").getByText("n20").waitFor();
    await expectFocus(page, /^Your message$/);
    await close();
  });

  test("dialogs open and close by key, and the focus is back where it was", async () => {
    const { page, close } = await newcomer();
    const keys = page.keyboard;
    await say(page, "hello");
    await answered(page, "You said: hello");
    await reach(page, /^Attach files$/, "Shift+Tab");
    await keys.press("Enter");
    await expectFocus(page, /From this device/);
    await keys.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expectFocus(page, /^Attach files$/);
    await keys.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await keys.press("Escape");
    await expectFocus(page, /^Attach files$/);
    await reach(page, /^Delete/, "Shift+Tab");
    await keys.press("Enter");
    await expectFocus(page, /^Cancel$/);
    await keys.press("Enter");
    await expectFocus(page, /^Delete/);
    await keys.press("Enter");
    await page.getByRole("dialog", { name: "Delete this conversation?" }).waitFor();
    await reach(page, /^Delete$/);
    await keys.press("Enter");
    await page.getByText("No conversations yet.").waitFor();
    await expectFocus(page, /^Search conversations$/);
    await close();
  });

  test("a menu is dialled and left by key", async () => {
    const { page, close } = await newcomer();
    const keys = page.keyboard;
    await page.getByRole("heading", { name: /^Ask/ }).waitFor();
    await keys.type("gt");
    await page.getByRole("heading", { name: "Telephone", exact: true }).waitFor();
    assert.match(await page.title(), /^Phone/);
    await reach(page, /^Dial/);
    await keys.press("Enter");
    await expectFocus(page, /^Your reply$/);
    await keys.type("1");
    await keys.press("Enter");
    await page.getByText("2. Pricing").waitFor();
    await expectFocus(page, /^Your reply$/);
    await keys.type("*");
    await keys.press("Enter");
    await page.getByText("ended", { exact: true }).waitFor();
    await expectFocus(page, /^Dial/);
    await keys.press("Enter");
    await expectFocus(page, /^Your reply$/);
    await reach(page, /^Hang up$/);
    await keys.press("Enter");
    await page.getByText("idle", { exact: true }).waitFor();
    await expectFocus(page, /^Dial/);
    await close();
  });

  test("an answer is read out once, when it is whole", async () => {
    const { page, close } = await newcomer();
    // Everything that live regions ever said, in the order of saying.
    await page.evaluate(() => {
      const heard = (globalThis.heard = []);
      const isLive = (e) => /^(polite|assertive)$/.test(e.getAttribute("aria-live") ?? "") || (/^(status|alert|log)$/.test(e.role ?? "") && e.getAttribute("aria-live") !== "off");
      new MutationObserver((changes) => {
        for (const { target } of changes) {
          let e = target.nodeType === Node.TEXT_NODE ? target.parentElement : target;
          while (e && !e.hasAttribute("aria-live") && !e.role) e = e.parentElement;
          const text = e && isLive(e) ? e.textContent.trim() : "";
          if (text && heard.at(-1) !== text) heard.push(text);
        }
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    const heard = () => page.evaluate(() => globalThis.heard);
    await say(page, "count to 40 every 5 hold at 20");
    await page.locator("article.castalia-message.ai").getByText("n20").waitFor();
    assert.ok((await heard()).includes("The oracle is answering."), JSON.stringify(await heard()));
    assert.ok(!(await heard()).some((text) => text.includes("n1 ")), "it was read out before it was whole");
    world.model.release();
    await eventually("it is read out", async () => (await heard()).some((text) => text.includes("n40")));
    const answers = (await heard()).filter((text) => text.includes("n1 "));
    assert.deepEqual(answers, [`The oracle: ${Array.from({ length: 40 }, (_, i) => `n${i + 1}`).join(" ")}`]);
    await close();
  });
}
