// A key leaves the browser and comes back: as words, as a QR code, and from the command line.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { devices } from "./telephone.mjs";
import { looksRight, visitors } from "./visitor.mjs";
import { engine, errorsOf, startBrowser, startProgram } from "./world.mjs";

const world = {};
let program;
let folder;
before(async () => {
  [world.browser, program] = await Promise.all([startBrowser(), startProgram()]);
  world.url = program.url;
  folder = mkdtempSync(join(tmpdir(), "castalia-copies-"));
});
after(async () => {
  await world.browser?.close();
  await program?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const { stranger, newcomer } = visitors(world);
const field = "Your key: its text, or its 24 words";
const inArabic = JSON.parse(readFileSync(new URL("../../web/console/languages/ar.json", import.meta.url), "utf8"));

/** The DID that the About page shows. */
async function whoami(page) {
  await page.getByRole("link", { name: "About" }).click();
  return (await page.getByText(/^did:key:z6Mk/).first().textContent()).trim();
}

/** The copy of the key on the About page, in one of its forms. */
async function copyAs(page, form) {
  await page.getByRole("button", { name: "Export the key" }).click();
  await page.getByRole("radio", { name: form }).check();
}

async function shownWords(page) {
  const list = page.getByRole("list", { name: "The words of your key" });
  await list.waitFor();
  return list.getByRole("listitem").allTextContents();
}

async function signOut(page) {
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
  await page.getByText("I have a key").click();
  await page.getByLabel(field).waitFor();
}

/** Somebody who is about to bring a key. */
async function bringer(options) {
  const who = await stranger(options);
  await who.visit("");
  await who.page.getByText("I have a key").click();
  await who.page.getByLabel(field).waitFor();
  return who;
}

async function enter(page, text) {
  await page.getByLabel(field).fill(text);
  await page.getByRole("button", { name: "Enter with this key" }).click();
}

/** A key of the command line: its DID, and the file that it is in. */
function madeKey(name) {
  const file = join(folder, name);
  return { file, did: program.run("key", "new", "--out", file).trim() };
}

/** The modules of a code that the command line drew: light on dark, two in a character. */
function modules(drawn) {
  const lines = drawn.split("\n").filter((line) => line !== "");
  const isLight = { "█": [true, true], "▀": [true, false], "▄": [false, true], " ": [false, false] };
  return lines.flatMap((line) => [0, 1].map((half) => [...line].map((sign) => !isLight[sign][half])));
}

/** A picture of a code with a light edge around it. */
function pictured(page, rows) {
  return page
    .evaluate((dark) => {
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = (dark.length + 8) * 5;
      const brush = canvas.getContext("2d");
      brush.fillStyle = "#fff";
      brush.fillRect(0, 0, canvas.width, canvas.height);
      brush.fillStyle = "#000";
      dark.forEach((row, y) => row.forEach((is, x) => is && brush.fillRect((x + 4) * 5, (y + 4) * 5, 5, 5)));
      return canvas.toDataURL("image/png").split(",")[1];
    }, rows)
    .then((text) => ({ name: "code.png", mimeType: "image/png", buffer: Buffer.from(text, "base64") }));
}

test("a key is written down as words, is locked when two of them are right, and comes back by them", async () => {
  const { page, close } = await newcomer();
  const did = await whoami(page);
  await copyAs(page, "Words");
  const words = await shownWords(page);
  assert.equal(words.length, 24);

  await page.getByRole("button", { name: "I wrote them down, lock the key" }).click();
  assert.equal(await page.getByRole("listitem").filter({ hasText: words[0] }).count(), 0, "the words are still in sight");
  const fields = page.getByLabel(/^Word \d+$/);
  assert.equal(await fields.count(), 2);
  const places = [];
  for (const label of await page.locator("label", { hasText: /^Word \d+$/ }).allTextContents()) places.push(Number(label.match(/\d+/)[0]));
  await fields.nth(0).fill(` ${words[places[0] - 1].toUpperCase()} `);
  await fields.nth(1).fill("goatherd");
  await page.getByRole("button", { name: "Check and lock the key" }).click();
  await page.getByText(`Word ${places[1]} is another one.`).waitFor();
  await page.getByRole("button", { name: "Show the words again" }).click();
  assert.deepEqual(await shownWords(page), words);
  await page.getByRole("button", { name: "I wrote them down, lock the key" }).click();
  for (const asked of await page.locator("label", { hasText: /^Word \d+$/ }).all()) {
    const place = Number((await asked.textContent()).match(/\d+/)[0]);
    await asked.locator("input").fill(words[place - 1]);
  }
  await page.getByRole("button", { name: "Check and lock the key" }).click();
  await page.getByText("The key is locked").waitFor();

  // Pasted as they were written down: a field of one line joins the words of two by itself.
  await signOut(page);
  await page.evaluate((text) => navigator.clipboard.writeText(text), words.map((word, i) => `${i + 1}. ${word.toUpperCase()}`).join("\n"));
  await page.getByLabel(field).focus();
  await page.keyboard.press("Control+v");
  await page.getByLabel("Show what I type").check();
  assert.match(await page.getByLabel(field).inputValue(), new RegExp(`^1\\. ${words[0]} 2\\. `, "i"));
  await page.getByRole("button", { name: "Enter with this key" }).click();
  assert.equal(await whoami(page), did);
  await page.getByText("The key is locked").waitFor();

  // And the command line makes the same key of them.
  const paper = join(folder, "paper");
  writeFileSync(paper, words.join("\n"));
  assert.equal(program.run("key", "import", "--out", join(folder, "paper.key"), paper).trim(), did);
  await close();
});

test("what is no key is told by what is wrong with it", async () => {
  const { page, close } = await bringer();
  const good = "dignity pass list indicate nasty swamp pool script soccer toe leaf photo multiply desk host tomato cradle drill spread actor shine dismiss champion exotic";
  for (const [text, want] of [
    [good.replace("pool", "goatherd"), "Word 7 is not on the list"],
    [good.replace("exotic", "zoo"), "together they are no key"],
    [good.split(" ").slice(0, 12).join(" "), "These are 12 words"],
    [good.split(" ").slice(0, 23).join(" "), "There are 23 words, and a key has 24"],
    ["0".repeat(63), "This is not a key"],
  ]) {
    await enter(page, text);
    await page.getByRole("alert").filter({ hasText: want }).waitFor();
    assert.doesNotMatch(await page.getByRole("alert").textContent(), /goatherd/);
  }
  const blank = await pictured(page, [[false]]);
  await page.getByLabel("Open a picture of its QR code").setInputFiles(blank);
  await page.getByRole("alert").filter({ hasText: "No QR code in this picture" }).waitFor();
  await page.getByLabel("Open a picture of its QR code").setInputFiles({ ...blank, buffer: Buffer.from("no picture") });
  await page.getByRole("alert").filter({ hasText: "cannot read this file as a picture" }).waitFor();
  await close();
});

test("who skips the question locks the key all the same", async () => {
  const { page, close } = await newcomer();
  await whoami(page);
  await copyAs(page, "Words");
  await page.getByRole("button", { name: "I wrote them down, lock the key" }).click();
  await page.getByRole("button", { name: "Lock without checking" }).click();
  await page.getByText("The key is locked").waitFor();
  await close();
});

test("a key of the command line opens the console by its words, its text and its QR code", async () => {
  const { file, did } = madeKey("made.key");
  const text = readFileSync(file, "utf8");
  for (const brought of [program.run("key", "words", file), text]) {
    const { page, close } = await bringer();
    await enter(page, brought.replace(/\s+/g, " "));
    assert.equal(await whoami(page), did);
    await close();
  }
  const { page, close } = await bringer();
  const picture = await pictured(page, modules(program.run("key", "qr", file)));
  await page.getByLabel("Open a picture of its QR code").setInputFiles(picture);
  assert.equal(await whoami(page), did);
  await close();
});

test("a key's QR code is saved as a picture, which another browser opens", async () => {
  const { page, close } = await newcomer();
  const did = await whoami(page);
  await copyAs(page, "QR code");
  await page.getByRole("img", { name: "The QR code of your key" }).waitFor();
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save it as a picture" }).click()]);
  assert.equal(saved.suggestedFilename(), "castalia-key.png");
  const other = await bringer();
  const buffer = readFileSync(await saved.path());
  await other.page.getByLabel("Open a picture of its QR code").setInputFiles({ name: "castalia-key.png", mimeType: "image/png", buffer });
  assert.equal(await whoami(other.page), did);
  await other.close();
  await page.getByRole("button", { name: "I saved it, lock the key" }).click();
  await page.getByText("The key is locked").waitFor();
  await close();
});

/** A film of one picture, as Chromium's camera shows it: 640 by 480, grey. */
function film(rows) {
  const [width, height, scale] = [640, 480, 8];
  const light = Buffer.alloc(width * height, 200);
  const [left, top] = [(width - rows.length * scale) / 2, (height - rows.length * scale) / 2].map(Math.floor);
  rows.forEach((row, y) =>
    row.forEach((isDark, x) => {
      if (!isDark) return;
      for (let line = 0; line < scale; line++) light.fill(30, (top + y * scale + line) * width + left + x * scale, (top + y * scale + line) * width + left + (x + 1) * scale);
    }),
  );
  const frame = Buffer.concat([Buffer.from("FRAME\n"), light, Buffer.alloc((width * height) / 2, 128)]);
  return Buffer.concat([Buffer.from(`YUV4MPEG2 W${width} H${height} F10:1 Ip A1:1 C420mpeg2\n`), frame, frame]);
}

// The cameras of other engines show no films.
if (engine === "chromium") {
  test("a camera reads the QR code, and is off afterwards", async () => {
    const { file, did } = madeKey("filmed.key");
    const shown = join(folder, "code.y4m");
    writeFileSync(shown, film(modules(program.run("key", "qr", file))));
    const browser = await startBrowser([...devices, `--use-file-for-fake-video-capture=${shown}`]);
    try {
      const filmed = visitors({ url: world.url, browser });
      const { page, visit, close } = await filmed.stranger();
      await page.addInitScript(() => {
        const { mediaDevices } = navigator;
        const open = mediaDevices.getUserMedia.bind(mediaDevices);
        mediaDevices.getUserMedia = async (wanted) => (globalThis.opened = await open(wanted));
      });
      await visit("");
      await page.getByText("I have a key").click();
      await page.getByRole("button", { name: "Read its QR code with the camera" }).click();
      assert.equal(await whoami(page), did);
      assert.deepEqual(await page.evaluate(() => globalThis.opened.getTracks().map((track) => track.readyState)), ["ended"]);
      await close();
    } finally {
      await browser.close();
    }
  });

  test("who has no camera is told what else there is", async () => {
    const { page, close } = await bringer();
    await page.getByRole("button", { name: "Read its QR code with the camera" }).click();
    await page.getByText("The camera cannot be used").waitFor();
    await page.keyboard.press("Escape");
    await page.getByLabel(field).waitFor();
    await close();
  });
}

test("a copy is asked for when there is something to lose, and no more once the key is locked", async () => {
  const { page, visit, close } = await newcomer();
  const asked = page.getByRole("region", { name: "A copy of your key" });
  const aDayLater = () => page.evaluate(() => localStorage.setItem("castalia-copy-asked-next", "1"));
  await page.reload();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  assert.equal(await asked.count(), 0, "nobody is asked in the first minute");
  await aDayLater();
  await page.reload();
  await asked.getByRole("button", { name: "Ask me in a week" }).click();
  await asked.waitFor({ state: "detached" });
  await aDayLater();
  await page.reload();
  await asked.getByRole("button", { name: "Make a copy" }).click();
  await copyAs(page, "Text");
  assert.equal(await asked.count(), 0);
  await page.getByRole("button", { name: "I saved it, lock the key" }).click();
  await page.getByText("The key is locked").waitFor();
  await aDayLater();
  await visit("chat");
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  assert.equal(await asked.count(), 0, "who has a copy is asked for one");
  await close();
});

for (const [language, locale] of [
  ["english", "en-GB"],
  ["arabic", "ar-EG"],
]) {
  test(`the ways to copy and bring a key fit, ${language}`, async () => {
    const { page, visit, close } = await stranger({ locale });
    const errors = errorsOf(page);
    const texts = locale === "ar-EG" ? inArabic : JSON.parse(readFileSync(new URL("../../web/console/languages/en.json", import.meta.url), "utf8"));
    await visit("");
    await page.getByText(texts.identity.haveKey).click();
    await page.getByLabel(texts.bring.key).fill("abandon ability able");
    await page.getByRole("button", { name: texts.bring.enter }).click();
    await page.getByRole("alert").waitFor();
    await looksRight(page, `bring-${language}`);
    await page.getByRole("button", { name: texts.identity.makeKey }).click();
    await page.getByRole("navigation", { name: texts.shell.pages }).waitFor();
    await page.evaluate(() => localStorage.setItem("castalia-copy-asked-next", "1"));
    await visit("about");
    await page.getByRole("region", { name: texts.copy.noticeTitle }).waitFor();
    await looksRight(page, `notice-${language}`);
    await page.getByRole("button", { name: texts.copy.later }).click();
    await page.getByRole("button", { name: texts.about.exportKey }).click();
    for (const form of ["text", "words", "code"]) {
      await page.getByRole("radio", { name: texts.copy[form] }).check();
      if (form === "words") await page.getByRole("list", { name: texts.copy.wordsName }).waitFor();
      if (form === "code") await page.getByRole("img", { name: texts.copy.codeName }).waitFor();
      await looksRight(page, `${form}-${language}`);
    }
    await page.getByRole("radio", { name: texts.copy.words }).check();
    await page.getByRole("button", { name: texts.copy.wroteDown }).click();
    await looksRight(page, `check-${language}`);
    assert.deepEqual(errors, []);
    await close();
  });
}
