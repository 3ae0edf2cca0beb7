// What the client library costs a page, in a real Chromium: renders of the
// message that grows and of 200 finished ones, the longest frame, requests per
// turn. Prints lines as Go's benchmarks do, so that one reader reads all.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { root, servePage } from "./page.mjs";
import { startBrowser } from "./world.mjs";

const cases = [
  ["batched/200-a-second", "batched", 2000, 200],
  ["immediate/200-a-second", "immediate", 2000, 200],
  ["batched/burst", "batched", 2000, Infinity],
  ["immediate/burst", "immediate", 2000, Infinity],
];

const sizes = execFileSync(process.execPath, [join(root, "web/client/scripts/size.mjs")], { encoding: "utf8" });
for (const [, entry, bytes] of sizes.matchAll(/^(\S+).*: (\d+) bytes gzip/gm)) {
  console.log(`BenchmarkClient/size/${entry} 1 ${bytes} bytes`);
}

// The components' page of conversations, while an answer of so many words is written at two hundred a second.
const conversations = [30, 10_000];
const written = 600;

let browser, site, thread;
try {
  [site, thread] = await Promise.all([servePage("bench"), servePage("thread")]);
  browser = await startBrowser();
  const page = await browser.newPage();
  page.on("pageerror", (error) => console.error(error));
  await page.goto(site.url);
  await page.waitForFunction(() => "run" in window);
  await page.evaluate(() => window.run("batched", 200, Infinity)); // warms up
  for (const [name, mode, tokens, rate] of cases) {
    const f = await page.evaluate(([m, t, r]) => window.run(m, t, r ?? Infinity), [mode, tokens, rate === Infinity ? null : rate]);
    const figures = [
      [f.growing, "renders"],
      [f.finished, "finished-renders"],
      [f.longestFrame.toFixed(1), "longest-frame-ms"],
      [f.took.toFixed(0), "ms"],
      [f.requests, "requests/turn"],
    ];
    console.log(`BenchmarkClient/${name} 1 ${figures.map((pair) => pair.join(" ")).join(" ")}`);
  }
  await page.close();
  for (const messages of conversations) {
    const page = await browser.newPage();
    page.on("pageerror", (error) => console.error(error));
    await page.goto(`${thread.url}?messages=${messages}`);
    await page.getByText(new RegExp(`^Message ${messages - 1}: `)).waitFor();
    await page.evaluate(() => window.write(60)); // warms up
    const longest = await page.evaluate((words) => window.write(words), written);
    const mounted = await page.locator("article.castalia-message").count();
    console.log(`BenchmarkClient/thread/${messages} 1 ${longest.toFixed(1)} longest-task-ms ${mounted} mounted`);
    await page.close();
  }
} finally {
  await browser?.close();
  await Promise.all([site?.stop(), thread?.stop()]);
}
