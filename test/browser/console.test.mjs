// The console in a real browser against the real program.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { axePath, eventually, startBrowser, startProgram } from "./world.mjs";

let program;
let browser;
before(async () => {
  program = await startProgram();
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await program?.stop();
});

/** A fresh page of a fresh user, and everything that went wrong on it. */
async function newcomer(options = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const faults = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
  page.on("request", (request) => {
    const { host } = new URL(request.url());
    if (host && host !== new URL(program.url).host) faults.push(`asked ${host}`);
  });
  await page.goto(`${program.url}/console/`);
  return { page, faults, close: () => context.close() };
}

async function enter(page) {
  await page.getByRole("button", { name: "Make a key and enter" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
}

test("a newcomer makes a key, is somebody, and stays so after a reload", async () => {
  const { page, faults, close } = await newcomer();
  await enter(page);
  await page.getByRole("link", { name: "About" }).click();
  const did = await page.getByText(/^did:key:z6Mk/).first().textContent();
  await page.getByText("ok, database connected").waitFor();
  await page.reload();
  await page.getByText(did.trim().split(" ")[0]).first().waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test("a question is answered, and the answer is there after a reload", async () => {
  const { page, faults, close } = await newcomer();
  await enter(page);
  await page.getByRole("button", { name: "Start a conversation" }).click();
  await page.getByLabel("Your message").fill("What is Castalia?");
  await page.keyboard.press("Enter");
  const answer = page.locator("article.message.ai");
  await eventually("the oracle has answered", async () => {
    const text = await answer.first().textContent();
    return text.length > 40 && !(await page.getByRole("button", { name: "Stop the answer" }).isVisible());
  });
  await page.getByText("Live", { exact: true }).waitFor();
  await page.reload();
  await eventually("history is shown", async () => (await answer.first().textContent()).length > 40);
  assert.equal(await page.locator("article.message.human").count(), 1);
  assert.deepEqual(faults, []);
  await close();
});

test("a file is uploaded, previewed, thrown away and restored", async () => {
  const { page, faults, close } = await newcomer();
  await enter(page);
  await page.getByRole("link", { name: "Files" }).click();
  await page.getByLabel("Files to upload").setInputFiles({
    name: "spring.txt",
    mimeType: "text/plain",
    buffer: Buffer.from("The Castalian spring rises at Delphi.\n"),
  });
  await page.getByRole("button", { name: "spring.txt", exact: true }).click();
  await page.getByText("The Castalian spring rises at Delphi.").waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Move spring.txt to the trash" }).click();
  await page.getByText("No files yet.").waitFor();
  await page.getByRole("button", { name: "Trash" }).click();
  await page.getByRole("button", { name: "Restore" }).click();
  await page.getByText("The trash is empty.").waitFor();
  await page.getByRole("button", { name: "Files", exact: true }).click();
  await page.getByRole("button", { name: "spring.txt", exact: true }).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test("the telephone dials and walks the menu", async () => {
  const { page, faults, close } = await newcomer();
  await enter(page);
  await page.getByRole("link", { name: "Phone" }).click();
  await page.getByRole("button", { name: "Dial *2233#" }).click();
  await page.getByText("1. Know More").waitFor();
  await page.getByLabel("Your reply").fill("1");
  await page.keyboard.press("Enter");
  await page.getByText("2. Pricing").waitFor();
  assert.deepEqual(faults, []);
  await close();
});

test("a protocol query shows its reply", async () => {
  const { page, faults, close } = await newcomer();
  await enter(page);
  await page.getByRole("link", { name: "Query" }).click();
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByText("ixo1155_contract_code").waitFor();
  assert.deepEqual(faults, []);
  await close();
});

for (const colorScheme of ["light", "dark"]) {
  test(`every page is accessible in ${colorScheme}, and fits 360 pixels`, async () => {
    const { page, close } = await newcomer({ colorScheme, viewport: { width: 360, height: 740 } });
    await check(page, `sign-in-${colorScheme}`);
    await enter(page);
    for (const path of ["chat", "files", "telephone", "query", "operator", "about"]) {
      await page.goto(`${program.url}/console/${path}`);
      await page.getByRole("navigation", { name: "Pages" }).waitFor();
      await check(page, `${path}-${colorScheme}`);
    }
    await close();
  });
}

async function check(page, name) {
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
