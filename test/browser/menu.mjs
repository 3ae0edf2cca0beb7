// The editor of the telephone's menus, as a community organiser uses it: no YAML.
import assert from "node:assert/strict";
import { test } from "node:test";
import { check, looksRight, visitors } from "./visitor.mjs";
import { eventually } from "./world.mjs";

/** A program on which one service code shows more than others, and which lets people tell programs of their own machine. */
export const narrow = { USSD_SCREEN_LIMIT: "160,*384#=182", WEBHOOKS_ALLOW_PRIVATE: "true" };

/** A second menu, for a code of its own. */
const clinic = `---
name: Clinic
codes: ["*77*1#"]
languages: [sw]
start: kliniki
exit: bye
labels: {back: {sw: Rudi}, exit: {sw: Toka}, next: {sw: Zaidi}, previous: {sw: Nyuma}, invalid: {sw: Si sahihi.}}
screens:
  kliniki: {text: {sw: Karibu kliniki}, options: [{key: "1", label: {sw: Saa}, next: hours}], exit: true}
  hours: {text: {sw: Saa mbili}, back: kliniki, exit: true}
  bye: {end: true, text: {sw: Kwaheri}}
`;

export function menuTests(world) {
  const { newcomer } = visitors(world);
  const dial = async (id, text) => {
    const reply = await fetch(`${world.url}/api/ussd`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ sessionId: id, serviceCode: "*2233#", phoneNumber: "+254700111333", text }),
    });
    return reply.text();
  };

  test("the menu is edited, tried, published and rolled back without YAML", async () => {
    const { page, visit, close } = await newcomer();
    await visit("operator/menu");
    await page.getByRole("link", { name: "Edit the menu" }).click();
    const screens = page.getByRole("navigation", { name: "Screens of the menu" });
    await screens.getByRole("button", { name: /^preMenu/ }).press("Enter");
    await page.keyboard.press("Tab"); // into the form, not through all the screens
    assert.equal(await page.getByLabel("Name of the screen").evaluate((e) => e === document.activeElement), true);
    const text = page.getByLabel("Text, en");
    const phone = page.getByRole("log", { name: "Screen of the telephone" });
    await phone.getByText("Welcome to Castalia").waitFor();

    // What is typed is counted at once, and on the telephone beside it a moment later.
    await text.fill("Welcome to the well");
    await page.getByText("The whole screen: 77 of 160 septets").waitFor();
    await phone.getByText("Welcome to the well").waitFor();

    // A fault is told beside its field; what cannot be published is not.
    await page.getByRole("button", { name: "Add a choice" }).click();
    const added = page.getByRole("listitem", { name: "Choice 5" });
    await added.getByText('missing translation "en"').waitFor();
    await added.getByLabel("Says, en").fill("Water prices");
    await added.getByLabel("Says, sw").fill("Bei ya maji");
    await added.getByLabel("Goes to").selectOption("pricing");
    await page.getByText("The check passes: this can be published.").waitFor();
    await phone.getByText("4. Water prices").waitFor();
    await page.getByLabel("Reply to the draft").fill("4");
    await page.keyboard.press("Enter");
    await phone.getByText("free of charge").waitFor();

    // The drawing and the text have it too, and a reload keeps it.
    await page.getByRole("tab", { name: "Text" }).click();
    assert.match(
      await page.getByLabel("The menu as text (YAML)").inputValue(),
      /label: \{en: Water prices, sw: Bei ya maji\}/,
    );
    await page.reload();
    await page.getByText("This is the draft that you left here before.").waitFor();
    await page.getByRole("tab", { name: "Drawing" }).click();
    await page.getByRole("button", { name: /^preMenu menu/ }).click();
    await page.getByRole("button", { name: "Edit this screen" }).click();
    assert.equal(await page.getByLabel("Text, en").inputValue(), "Welcome to the well");

    // Published: new calls get it, one under way keeps what it has.
    assert.match(await dial("under-way", ""), /Welcome to Castalia/);
    await page.getByRole("tab", { name: "Changes" }).click();
    await page.getByText("preMenu is changed").waitFor();
    await page.getByLabel("Why (kept with the version)").fill("prices of the well");
    await page.getByRole("button", { name: "Publish" }).click();
    const first = page.getByRole("listitem").filter({ hasText: "prices of the well" });
    await first.getByText("live", { exact: true }).waitFor();
    await eventually("new calls get the menu", async () =>
      /Welcome to the well/.test(await dial(`new-${Date.now()}`, "")),
    );
    assert.doesNotMatch(await dial("under-way", "4"), /free of charge/);

    // A second version, and back to the first.
    await page.getByRole("tab", { name: "Screens" }).click();
    await screens.getByRole("button", { name: /^preMenu/ }).click();
    await text.fill("Welcome to the other well");
    await page.getByText("this can be published").waitFor();
    await page.getByRole("tab", { name: "Changes" }).click();
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByRole("button", { name: "Roll back to version 1" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Roll back" }).click();
    await page.getByText("version 1 again").waitFor();
    await eventually("new calls get the first menu", async () =>
      /to the well/.test(await dial(`back-${Date.now()}`, "")),
    );

    // Who leaves comes back to the draft; what somebody else published meanwhile is not written over unseen.
    await page.getByRole("tab", { name: "Screens" }).click();
    await screens.getByRole("button", { name: /^preMenu/ }).click();
    await text.fill("Welcome to the third well");
    await phone.getByText("Welcome to the third well").waitFor();
    await page.getByRole("link", { name: "Figures" }).click();
    await page.getByRole("link", { name: "Edit the menu" }).click();
    await page.getByText("This is the draft that you left here before.").waitFor();
    const documents = `${world.url}/operator/documents/menu`;
    const now = await (await fetch(documents)).json();
    const theirs = await fetch(documents, {
      method: "PUT",
      headers: { "Content-Type": "application/json", "If-Match": `"${now.newest}"` },
      body: JSON.stringify({ text: now.text.replace("to the well", "to their well"), note: "theirs" }),
    });
    assert.equal(theirs.status, 200, await theirs.text());
    await page.getByRole("tab", { name: "Changes" }).click();
    const publish = page.getByRole("button", { name: "Publish" });
    await publish.click();
    await page.getByText(/^Somebody published version/).waitFor();
    assert.ok(await publish.isDisabled());
    await page.getByRole("button", { name: "I have looked at it" }).click();
    await publish.click();
    await eventually("new calls get the draft", async () => /third well/.test(await dial(`third-${Date.now()}`, "")));
    await close(["412"]);
  });

  test("with a menu for another code, both have their figures and their drawing", async () => {
    const documents = `${world.url}/operator/documents/menu`;
    const publish = async (change, note) => {
      const now = await (await fetch(documents)).json();
      const reply = await fetch(documents, {
        method: "PUT",
        headers: { "Content-Type": "application/json", "If-Match": `"${now.newest}"` },
        body: JSON.stringify({ text: change(now.text), note }),
      });
      assert.equal(reply.status, 200, await reply.text());
      return now.text;
    };
    const before = await publish((text) => `${text}${clinic}`, "a clinic");
    const call = (code, id) =>
      fetch(`${world.url}/api/ussd`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ sessionId: id, serviceCode: code, phoneNumber: "+254700111444", text: "" }),
      }).then((reply) => reply.text());
    await eventually("the code has its menu", async () => /Karibu kliniki/.test(await call("*77*1#", `c-${Date.now()}`)));
    const { page, visit, close } = await newcomer();
    await visit("operator/menu");
    const menu = page.getByLabel("Menu of");
    assert.equal(await menu.locator("option:checked").innerText(), "Castalia (all other codes)");
    await page.getByRole("button", { name: /^preMenu menu/ }).waitFor();
    await menu.selectOption({ label: "Clinic (*77*1#)" });
    await page.getByRole("button", { name: /^kliniki menu/ }).waitFor();
    await page.getByRole("region", { name: "Funnel" }).getByText("kliniki", { exact: true }).waitFor();
    assert.equal(await page.getByRole("button", { name: /^preMenu/ }).count(), 0);
    await looksRight(page, "the figures of another code's menu");
    await publish(() => before, "without the clinic");
    await eventually("the code has the menu of all others", async () => !/kliniki/.test(await call("*77*1#", `d-${Date.now()}`)));
    await page.reload();
    await page.getByRole("button", { name: /^preMenu menu/ }).waitFor();
    assert.equal(await menu.count(), 0);
    await close();
  });

  test("forms, lists, webhooks, notices and values are written without YAML", async () => {
    const { page, visit, close } = await newcomer();
    await visit("operator/menu/edit");
    const screens = page.getByRole("navigation", { name: "Screens of the menu" });
    await screens.getByRole("button", { name: /^Whole menu/ }).click();
    const add = async (part, label, name) => {
      const section = page.getByRole("region", { name: part });
      await section.getByLabel(label).fill(name);
      await page.keyboard.press("Enter");
      await section.locator("summary", { hasText: name }).press("Enter");
      return section;
    };
    const form = await add("Forms: what callers send is kept", "Another form", "signup");
    await form.getByLabel("Name in the form").fill("village");
    await form.getByLabel("It is").selectOption("choice");
    await form.getByLabel("One of these, a line each").pressSequentially("North\nSouth");
    await form.getByLabel("May be missing").check();
    await form.getByLabel("Kept only if this is yes").selectOption("name");
    await form.getByRole("button", { name: "Add a field" }).click();
    await form.getByRole("listitem", { name: "Field 2" }).waitFor();
    const list = await add("Lists: rows that are shown", "Another list", "prices");
    await list.getByLabel("How a row looks, en").fill("{{item}}: {{price}}");
    await list.getByLabel("How a row looks, sw").fill("{{item}}: {{price}}");
    const webhook = await add("Webhooks: programs that are called", "Another webhook", "stock");
    await webhook.getByRole("alert").getByText("write the id of a webhook").waitFor();
    await check(page, "a finding beside its field");
    await webhook.getByLabel("Id of the webhook").fill(`ep_${"A".repeat(26)}`);
    await webhook.getByRole("group", { name: "It is told" }).getByLabel("name", { exact: true }).check();
    await looksRight(page, "menu-declarations");

    await screens.getByRole("button", { name: /^preMenu/ }).click();
    const choice = page.getByRole("listitem", { name: "Choice 1" });
    await choice.locator("summary", { hasText: "A notice above" }).press("Enter");
    await choice.getByLabel(/^A notice above .*, en$/).fill("Good that you ask");
    await choice.getByLabel(/^A notice above .*, sw$/).fill("Karibu");
    await choice.locator("summary", { hasText: "Values that it sets" }).press("Enter");
    await choice.getByLabel("Set a variable").selectOption("name");
    await choice.getByLabel("Value of name").fill("Guest");
    await looksRight(page, "menu-notices");

    await page.getByRole("tab", { name: "Text" }).click();
    const text = page.getByLabel("The menu as text (YAML)");
    for (const wanted of [
      /signup:\s+consent: name|signup:[\s\S]{0,200}consent: name/,
      /choices: \[North, South\]|choices:\s+- North\s+- South/,
      /optional: true/,
      /file: prices\.csv/,
      /endpoint: ep_A{26}/,
      /send: \[name\]|send:\s+- name/,
      /notice: \{en: Good that you ask, sw: Karibu\}/,
      /set: \{name: Guest\}/,
    ]) {
      await eventually(`the text has ${wanted}`, async () => wanted.test(await text.inputValue()));
    }
    await close();
  });

  test("a menu calls one of the webhooks that there are, which is chosen by its name", async () => {
    const { page, visit, close } = await newcomer();
    await visit("connect/webhooks");
    const hook = page.getByRole("region", { name: "Add a webhook" });
    await hook.getByLabel("Address").fill("http://127.0.0.1:9/prices");
    await hook.getByLabel("What it is for").fill("the prices");
    await hook.getByRole("checkbox", { name: /^menu\.called/ }).check();
    await hook.getByRole("button", { name: "Add" }).click();
    await page.getByRole("button", { name: "Copy the secret" }).waitFor();
    await visit("operator/menu/edit");
    const screens = page.getByRole("navigation", { name: "Screens of the menu" });
    await screens.getByRole("button", { name: /^Whole menu/ }).click();
    const section = page.getByRole("region", { name: "Webhooks: programs that are called" });
    await section.getByLabel("Another webhook").fill("price");
    await page.keyboard.press("Enter");
    await section.locator("summary", { hasText: "price" }).press("Enter");
    await section.getByLabel("Webhook of yours").selectOption("the prices: http://127.0.0.1:9/prices");
    await looksRight(page, "menu-webhook");
    await page.getByRole("tab", { name: "Text" }).click();
    const text = page.getByLabel("The menu as text (YAML)");
    await eventually("the text names it by its id", async () => /endpoint: ep_\w+/.test(await text.inputValue()));
    await page.getByRole("tab", { name: "Screens" }).click();
    await section.locator("summary", { hasText: "price" }).press("Enter");
    await section.getByLabel("Webhook of yours").selectOption("Another, by its id");
    assert.equal(await section.getByLabel("Id of the webhook").inputValue(), "");
    await close();
  });

  test("the telephone measures a screen by what its service code shows", async () => {
    const { page, visit, close } = await newcomer();
    await visit("telephone");
    for (const [code, room] of [
      ["*384*7#", "of 182"],
      ["*2233#", "of 160"],
    ]) {
      await page.getByLabel("Service code").fill(code);
      await page.getByRole("button", { name: `Dial ${code}` }).click();
      await page.getByText("1. Know More").waitFor();
      await page.getByText(room).waitFor();
      await page.getByRole("button", { name: "Hang up" }).click();
    }
    await close();
  });
}
