// What the client library costs a page, in a real Chromium: renders of the
// message that grows and of 200 finished ones, the longest frame, requests per
// turn. Prints lines as Go's benchmarks do, so that one reader reads all.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startBrowser } from "./world.mjs";

const root = resolve(fileURLToPath(import.meta.url), "../../..");
const require = createRequire(join(root, "web/package.json"));
const vite = await import(pathToFileURL(require.resolve("vite")).href);
const { default: react } = await import(pathToFileURL(require.resolve("@vitejs/plugin-react")).href);

const here = (path) => join(root, path);
const out = mkdtempSync(join(tmpdir(), "castalia-bench-"));
const config = {
  configFile: false,
  root: here("test/browser/bench"),
  logLevel: "error",
  plugins: [react()],
  resolve: {
    alias: [
      { find: "@castalia/oracles-client/testing", replacement: here("web/client/dist/testing.js") },
      { find: "@castalia/oracles-client", replacement: here("web/client/dist/index.js") },
      { find: /^react(\/.*)?$/, replacement: here("web/node_modules/react$1") },
      { find: /^react-dom(\/.*)?$/, replacement: here("web/node_modules/react-dom$1") },
    ],
  },
  build: { outDir: out, emptyOutDir: true, target: "es2022" },
};

const cases = [
  ["batched/200-a-second", "batched", 2000, 200],
  ["immediate/200-a-second", "immediate", 2000, 200],
  ["batched/burst", "batched", 2000, Infinity],
  ["immediate/burst", "immediate", 2000, Infinity],
];

const sizes = execFileSync(process.execPath, [here("web/client/scripts/size.mjs")], { encoding: "utf8" });
for (const [, entry, bytes] of sizes.matchAll(/^(\S+).*: (\d+) bytes gzip/gm)) {
  console.log(`BenchmarkClient/size/${entry} 1 ${bytes} bytes`);
}

let browser, server;
try {
  await vite.build(config);
  server = await vite.preview({ ...config, preview: { port: 0, host: "127.0.0.1" } });
  browser = await startBrowser();
  const page = await browser.newPage();
  page.on("pageerror", (error) => console.error(error));
  await page.goto(server.resolvedUrls.local[0]);
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
} finally {
  await browser?.close();
  await server?.close();
  rmSync(out, { recursive: true, force: true });
}
