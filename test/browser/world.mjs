// Starts the real program and a real browser for one test file.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(fileURLToPath(import.meta.url), "../../..");
const require = createRequire(join(root, "web/package.json"));
const { chromium } = require("playwright-core");

export const axePath = require.resolve("axe-core/axe.min.js");

/** A port that nobody has at the moment. */
export function freePort() {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/** Waits until fn is content; a minute is the limit of a broken program. */
export async function eventually(what, fn) {
  const deadline = Date.now() + 60_000;
  let last;
  while (Date.now() < deadline) {
    try {
      const value = await fn();
      if (value) return value;
    } catch (cause) {
      last = cause;
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`waited in vain until ${what}`, { cause: last });
}

/** The embedded shape on a folder of its own. */
export async function startProgram(env = {}) {
  const data = mkdtempSync(join(tmpdir(), "castalia-browser-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const binary = process.env.CASTALIA_BINARY ?? join(root, "bin/castalia");
  let log = "";
  const program = spawn(binary, ["serve"], {
    cwd: data,
    env: {
      PATH: process.env.PATH,
      HOME: data,
      CASTALIA_DATA: join(data, "data"),
      PORT: String(port),
      HOST: "127.0.0.1",
      NODE_URL: url,
      RATE_LIMIT_PER_MINUTE: "0",
      ...env,
    },
  });
  for (const stream of [program.stdout, program.stderr]) stream.on("data", (text) => (log += text));
  const ended = new Promise((done) => program.once("exit", done));
  await eventually(`the program is ready:\n${log}`, async () => (await fetch(`${url}/ready`)).ok);
  return {
    url,
    log: () => log,
    signal: (name) => program.kill(name),
    async stop() {
      program.kill("SIGTERM");
      await ended;
      rmSync(data, { recursive: true, force: true });
    },
  };
}

export function startBrowser(args = []) {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...args,
    ],
  });
}
