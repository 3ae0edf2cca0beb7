// Files, queries and the operator's pages with the keyboard alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { visitors } from "./visitor.mjs";
import { engine, eventually } from "./world.mjs";

/** What has the focus: its name, and whether that can be seen. */
function focused() {
  const e = document.activeElement;
  if (!e || e === document.body) return { name: "", seen: false, atEnd: true };
  const named = e.getAttribute("aria-labelledby");
  const label = named ? document.getElementById(named) : e.labels?.[0];
  const name = e.getAttribute("aria-label") ?? label?.textContent ?? e.textContent;
  const drawn = (part) => getComputedStyle(part);
  // A screen of the menu's drawing shows it by the line around its box.
  const box = e.querySelector(":scope > rect");
  const seen = box ? parseFloat(drawn(box).strokeWidth) >= 2.5 : drawn(e).outlineStyle !== "none";
  return { name: name.trim(), seen, inDialog: e.closest("dialog") !== null };
}

/**
 * After the last stop of a page, Firefox gives the focus to its own bars. Its driver's keys would still move along in the
 * page, which shows no focus while the bars have it; so the page takes it back, as whoever walks on through the bars gives it.
 */
async function has(page) {
  const now = await page.evaluate(focused);
  if (engine === "firefox" && now.atEnd) await page.evaluate(() => window.focus());
  return now;
}

/** Presses a key until something of that name has the focus. */
async function reach(page, name, key = "Tab") {
  const passed = [];
  for (let i = 0; i < 120; i++) {
    await page.keyboard.press(key);
    const now = await has(page);
    if (now.name && !now.seen) assert.fail(`the focus on ${now.name} cannot be seen`);
    if (typeof name === "string" ? now.name === name : name.test(now.name)) return now;
    passed.push(now.name);
  }
  return assert.fail(`${key} does not lead to ${name}: ${passed.join(" | ")}`);
}

async function enter(page, name, key) {
  const now = await reach(page, name, key);
  await page.keyboard.press("Enter");
  return now;
}

/** Waits until something of that name has the focus, by itself. */
async function holds(page, name) {
  let last;
  await eventually(`${name} has the focus`, async () => {
    last = (await has(page)).name;
    return typeof name === "string" ? last === name : name.test(last);
  }).catch((cause) => {
    throw new Error(`the focus is on ${JSON.stringify(last)}`, { cause });
  });
}

/** Walks once around a page: everything has a name, can be seen, and lets go of the focus. */
async function around(page, where) {
  await page.evaluate(() => document.querySelector(".skip").focus());
  const passed = [];
  for (let i = 0; i < 150; i++) {
    await page.keyboard.press("Tab");
    const now = await has(page);
    if (now.name === "Skip to content" || now.atEnd) return;
    assert.notEqual(now.name, "", `${where}: no name after ${passed.at(-1)}`);
    assert.ok(now.seen, `${where}: the focus on ${now.name} cannot be seen`);
    passed.push(now.name);
  }
  assert.fail(`${where} has no end: ${passed.join(" | ")}`);
}

export function keyTests(world) {
  const { newcomer } = visitors(world);

  async function press(page, ...keys) {
    for (const key of keys) await page.keyboard.press(key);
  }
  /** Closes the dialog on top. */
  async function dismiss(page) {
    const open = page.locator("dialog");
    const before = await open.count();
    await press(page, "Escape");
    await eventually("the dialog is closed", async () => (await open.count()) < before);
  }
  /** Stores a file by the button that asks for one. */
  async function store(page, ...files) {
    const chooser = page.waitForEvent("filechooser");
    await enter(page, "Upload");
    await (await chooser).setFiles(files.map(([name, text]) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) })));
    for (const [name] of files) await page.getByRole("button", { name, exact: true }).waitFor();
  }

  test("files are stored, looked at, restored, shared and thrown away with the keyboard alone", async () => {
    const { page, close } = await newcomer();
    await page.keyboard.type("gf");
    await page.getByText("No files yet.").waitFor();
    await store(page, ["april.txt", "April\n"], ["may.txt", "first\n"], ["june.txt", "June\n"]);
    await store(page, ["may.txt", "second\n"]);
    await enter(page, "Replace");
    await page.getByRole("gridcell", { name: /, v2$/ }).waitFor();

    // A file, by the first letter of its name: an older version, and back to it.
    await reach(page, "april.txt");
    await press(page, "m");
    await holds(page, "may.txt");
    await press(page, "Enter");
    const file = page.getByRole("dialog", { name: "may.txt" });
    await file.getByText("second").waitFor();
    await enter(page, /^Version 1/);
    await file.getByText("first").waitFor();
    await enter(page, "Restore version 1");
    await file.getByText("Version 3").waitFor();
    assert.equal((await has(page)).name, "Restore version 1");
    assert.equal((await reach(page, "Close")).inDialog, true);
    await dismiss(page);
    await holds(page, "may.txt");

    // From the file to its share dialog; both give the focus back to the file.
    await press(page, "Enter");
    await file.waitFor();
    await enter(page, "Share");
    await page.getByRole("dialog", { name: "Share may.txt" }).waitFor();
    await reach(page, "Anyone who has the link");
    await press(page, "ArrowDown");
    await holds(page, "Anyone, also without this page");
    await press(page, "ArrowDown");
    await holds(page, "One DID only");
    await press(page, "ArrowUp");
    await press(page, "ArrowUp");
    await enter(page, "Make the link");
    await holds(page, /^The link/);
    await dismiss(page);
    await holds(page, "may.txt");

    // Arrows walk the list; what is thrown away hands the focus on.
    await press(page, "ArrowUp");
    await holds(page, "june.txt");
    await press(page, "ArrowUp", "Delete");
    await page.getByRole("button", { name: "april.txt", exact: true }).waitFor({ state: "detached" });
    await eventually("the list has the focus", async () => (await has(page)).name !== "");
    await holds(page, "june.txt");
    await press(page, "Control+a");
    await page.getByText("2 files chosen").waitFor();
    await press(page, "Escape");
    await page.getByText("2 files chosen").waitFor({ state: "detached" });
    await holds(page, "june.txt");

    // The trash, by the arrows of its tabs.
    await reach(page, "Files", "Shift+Tab");
    await press(page, "ArrowLeft");
    await holds(page, "Trash");
    await enter(page, "Destroy april.txt");
    await page.getByRole("dialog", { name: "Destroy this file?" }).waitFor();
    await dismiss(page);
    await holds(page, "Destroy april.txt");
    await enter(page, "Restore april.txt", "Shift+Tab");
    await page.getByText("The trash is empty.").waitFor();
    await holds(page, "Trash");

    // A folder is named in a dialog, and moved into by a file's new path.
    await reach(page, "Trash", "Shift+Tab");
    await press(page, "ArrowRight");
    await reach(page, "april.txt");
    await press(page, "j");
    await holds(page, "june.txt");
    await press(page, "Enter");
    await enter(page, "Move or rename");
    await holds(page, /^New path/);
    await page.keyboard.type("july");
    await press(page, "Enter");
    await page.getByRole("dialog", { name: "july.txt" }).waitFor();
    await holds(page, "Move or rename");
    await dismiss(page);
    await page.getByRole("button", { name: "july.txt", exact: true }).waitFor();

    // A search, from wherever the focus is, and from a hit to the file.
    await reach(page, "july.txt");
    await eventually("the words are indexed", async () => {
      await press(page, "/");
      await press(page, "Control+a");
      await page.keyboard.type("june");
      await press(page, "Enter");
      const found = page.getByText(/\d hits? for “june”/);
      await found.or(page.getByRole("alert")).waitFor({ timeout: 10_000 });
      if (!(await found.isVisible())) assert.fail(await page.getByRole("alert").textContent());
      if (await page.locator("mark", { hasText: "June" }).isVisible()) return true;
      await press(page, "Escape");
      await page.evaluate(() => document.activeElement.blur());
      return false;
    });
    await enter(page, "july.txt");
    await page.getByRole("region", { name: "Preview of july.txt" }).waitFor();
    await dismiss(page);
    await holds(page, "july.txt");
    await close(["409"]);
  });

  test("a query is found, filled in and sent with the keyboard alone", async () => {
    const { page, close } = await newcomer();
    await page.keyboard.type("gq");
    await page.getByRole("option").first().waitFor();
    await press(page, "/");
    await page.keyboard.type("iid document");
    await press(page, "ArrowDown");
    await holds(page, "Routes");
    await press(page, "End", "Home", "ArrowDown");
    await page.getByRole("heading", { name: "IidDocument", exact: true }).waitFor();
    await reach(page, "id");
    await page.keyboard.type("did:ixo:nobody");
    await press(page, "Enter");
    await page.getByRole("status").getByText("404").waitFor();
    await reach(page, "What was answered");
    await around(page, "query");
    await close(["404"]);
  });

  test("the operator's pages are walked with the keyboard alone", async () => {
    const { page, close } = await newcomer();
    await page.keyboard.type("go");
    await page.getByText("What it needs").waitFor();
    for (const [name, sign] of [
      ["Sessions", /Nobody is on the line|sessions?, those used last/],
      ["Accounts", "Unlock by name"],
      ["Query nodes", "in step"],
      ["Plugins", "Switch plugins with"],
      ["Menu", "Where callers go, and where they leave"],
    ]) {
      await page.keyboard.type("go");
      await enter(page, name);
      await page.getByText(sign).first().waitFor();
      await around(page, name);
    }
    const chosen = page.locator(".node-detail h3");
    await reach(page, /^preMenu menu/);
    await press(page, "ArrowRight");
    const first = (await has(page)).name.split(" ")[0];
    await chosen.getByText(first).waitFor();
    await press(page, "ArrowLeft");
    await holds(page, /^preMenu menu/);
    await enter(page, /^infoMenu 1/);
    await holds(page, /^infoMenu/);
    await chosen.getByText("infoMenu").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.tagName), "H3");
    await close();
  });
}
