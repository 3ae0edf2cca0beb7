// Draws the pictures of the documentation: the real program in a real browser.
// Run it with make screenshots.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startBrowser, startProgram } from "./world.mjs";

const folder = fileURLToPath(new URL("../../docs/images/", import.meta.url));
mkdirSync(folder, { recursive: true });
const program = await startProgram();
const browser = await startBrowser();

const files = [
  ["spring.txt", "text/plain", "The Castalian spring rises at Delphi.\nIts water made poets.\n"],
  ["minutes.md", "text/markdown", "# Minutes of the water committee\n\n- The pump was repaired.\n- The bees were counted.\n"],
  ["harvest.csv", "text/csv", "month,crates\nMay,42\nJune,57\n"],
].map(([name, mimeType, text]) => ({ name, mimeType, buffer: Buffer.from(text) }));

async function visitor(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 750 }, colorScheme: "light", ...options });
  const page = await context.newPage();
  await page.goto(`${program.url}/console/`);
  await page.getByRole("button", { name: "Make a key and enter" }).click();
  await page.getByRole("navigation", { name: "Pages" }).waitFor();
  return page;
}

async function shot(page, name) {
  await page.waitForTimeout(400);
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path });
  console.log(`${name}.png ${Math.round(statSync(path).size / 1024)} KiB`);
}

const chart = { title: "Litres drawn at the spring", labels: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], values: [420, 388, 512, 475, 610, 702, 655] };

async function converse(page) {
  await page.getByRole("button", { name: /What is Castalia/ }).click();
  await page.locator("article.castalia-message.ai", { hasText: "Castalia" }).first().waitFor();
  await page.getByLabel("Your message").fill(`/tool show_chart ${JSON.stringify(chart)}`);
  await page.keyboard.press("Enter");
  await page.locator(".chart svg").waitFor();
  await page.getByText("The chart is on the page").last().waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
}

function call(session, number, ...texts) {
  return texts.reduce(
    (before, text) =>
      before.then(() =>
        fetch(`${program.url}/api/ussd`, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ sessionId: session, serviceCode: "*2233#", phoneNumber: number, text }),
        }),
      ),
    Promise.resolve(),
  );
}

/** The first useful answer, as a moving picture: what a newcomer sees, click by click. */
async function firstAnswer() {
  const frames = mkdtempSync(join(tmpdir(), "castalia-movie-"));
  const names = [];
  const page = await (await browser.newContext({ viewport: { width: 960, height: 600 }, colorScheme: "light" })).newPage();
  const frame = async () => {
    await page.waitForTimeout(400);
    names.push(join(frames, `${names.length}.png`));
    await page.screenshot({ path: names.at(-1) });
  };
  const click = async (name) => {
    await page.getByRole("button", { name }).hover();
    await frame();
    await page.getByRole("button", { name }).click();
  };
  await page.goto(`${program.url}/console/`);
  await click("Make a key and enter");
  await click(/Load a sample community/);
  await click(/When is the clinic open/);
  await page.getByText("[1] Mwangaza Clinic").first().waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await frame();
  const out = join(folder, "first-answer.gif");
  const root = fileURLToPath(new URL("../..", import.meta.url));
  execFileSync("go", ["run", "./scripts/movie", out, "1800", ...names], { cwd: root, stdio: "inherit" });
  rmSync(frames, { recursive: true });
  console.log(`first-answer.gif ${Math.round(statSync(out).size / 1024)} KiB`);
}
await firstAnswer();

// Callers for the operator's pages.
const walks = [[""], ["", "1"], ["", "1", "1*2"], ["", "1", "1*1"], ["", "2"], ["", "2", "2*2"], ["", "1", "1*3"], ["", "2", "2*1"]];
await Promise.all(walks.map((texts, i) => call(`call-${i}`, `+25470012345${i}`, ...texts)));

const page = await visitor();
await shot(page, "console-start");
await converse(page);
await shot(page, "console-chat");

await page.getByRole("link", { name: "Files" }).click();
await page.getByLabel("Files to upload").setInputFiles(files);
for (const { name } of files) await page.getByRole("button", { name, exact: true }).waitFor();
await page.getByRole("checkbox", { name: "Choose minutes.md" }).check();
await shot(page, "console-files");
await page.getByRole("button", { name: "Share", exact: true }).click();
await page.getByRole("button", { name: "Make the link" }).click();
await page.getByRole("button", { name: "Copy the link" }).waitFor();
await shot(page, "console-share");
await page.keyboard.press("Escape");

await page.getByRole("link", { name: "Phone" }).click();
await page.getByRole("button", { name: "Dial *2233#" }).click();
await page.getByText("1. Know More").waitFor();
await page.getByLabel("Your reply").fill("1");
await page.keyboard.press("Enter");
await page.getByText("2. Pricing").waitFor();
await shot(page, "console-telephone");

await page.getByRole("link", { name: "Query" }).click();
await page.getByRole("button", { name: "Ask" }).click();
await page.getByRole("region", { name: "Reply" }).waitFor();
await shot(page, "console-query");

await page.goto(`${program.url}/console/operator/menu`);
await page.getByRole("region", { name: "Drawing of the menu" }).scrollIntoViewIfNeeded();
await page.getByRole("button", { name: /^infoMenu menu/ }).click();
await shot(page, "console-operator");

const small = await visitor({ viewport: { width: 360, height: 740 }, colorScheme: "dark", deviceScaleFactor: 1.5 });
await converse(small);
await shot(small, "console-small-dark");

await browser.close();
await program.stop();
