// Starts the real program and a real browser for one test file.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chooserOf, keepChooser } from "./chooser.mjs";

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
  throw new Error(`waited in vain until ${what}${last ? `: ${last.message}` : ""}`, { cause: last });
}

/** One process of the program, on a folder of its own. Settings may be made for each. */
async function launch(...settings) {
  const env = {};
  for (const some of settings) Object.assign(env, typeof some === "function" ? await some() : some);
  const data = mkdtempSync(join(tmpdir(), "castalia-browser-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const binary = process.env.CASTALIA_BINARY ?? join(root, "bin/castalia");
  let log = "";
  const place = {
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
  };
  const program = spawn(binary, ["serve"], place);
  for (const stream of [program.stdout, program.stderr]) stream.on("data", (text) => (log += text));
  const ended = new Promise((done) => program.once("exit", done));
  return {
    url,
    port,
    log: () => log,
    /** Runs another command beside it, and returns what it says. */
    run: (...args) => execFileSync(binary, args, { ...place, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }),
    signal: (name) => program.kill(name),
    ready: () =>
      eventually(`the program is ready:\n${log}`, async () => (await fetch(`${url}/ready`)).ok),
    async stop() {
      program.kill("SIGTERM");
      await ended;
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** The embedded shape. */
export async function startProgram(env = {}) {
  const program = await launch(env);
  await program.ready();
  return program;
}

/**
 * Two nodes on a database, a bucket and a bus, behind one address. All come in
 * at the first node until it stops listening; spread, at both in turn.
 */
export async function startFleet(env = {}, { spread = false } = {}) {
  const ground = spawn("go", ["run", "./test/browser/ground"], {
    cwd: root,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const away = new Promise((done) => ground.once("exit", done));
  const settings = await new Promise((done, fail) => {
    createInterface({ input: ground.stdout }).once("line", (line) => done(JSON.parse(line)));
    ground.once("exit", () => fail(new Error("there is no ground for a fleet")));
  });
  const nodes = await Promise.all([0, 1].map(() => launch(settings, env)));
  await Promise.all(nodes.map((node) => node.ready()));
  let turn = 0;
  const front = createServer((tab) => {
    const enter = ([node, ...rest]) => {
      if (!node) return tab.destroy();
      const line = connect(node.port, "127.0.0.1", () => tab.pipe(line).pipe(tab));
      let open = false;
      line.once("connect", () => (open = true));
      line.on("error", () => (open ? tab.destroy() : enter(rest)));
      tab.on("error", () => line.destroy());
      tab.on("close", () => line.destroy());
    };
    enter(spread && turn++ % 2 === 1 ? nodes.toReversed() : nodes);
  });
  await new Promise((done) => front.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${front.address().port}`,
    nodes,
    log: () => nodes.map((node) => node.log()).join("\n"),
    signal: (name) => nodes[0].signal(name),
    async stop() {
      front.close();
      await Promise.all(nodes.map((node) => node.stop()));
      ground.stdin.end();
      await away;
    },
  };
}

/** A line to a server that breaks when it is told to, and stays so until it is mended. */
export async function startWire(target) {
  const lines = new Set();
  let isCut = false;
  let lost = { times: 0 };
  const server = createServer((page) => {
    if (isCut) return page.destroy();
    const line = connect(new URL(target).port, "127.0.0.1");
    page.on("data", (asked) => {
      if (lost.times === 0 || !asked.includes(lost.request)) return;
      lost.times--;
      line.unpipe(page);
      line.once("data", () => page.destroy()).resume();
    });
    for (const [one, other] of [
      [page, line],
      [line, page],
    ]) {
      lines.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => (lines.delete(one), other.destroy()));
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut() {
      isCut = true;
      for (const line of lines) line.destroy();
    },
    mend: () => (isCut = false),
    /** The next requests that begin so reach the server, and their answers nobody. */
    lose: (request, times) => (lost = { request, times }),
    stop() {
      this.cut();
      server.close();
    },
  };
}

/** What goes wrong in a page from now on. What Firefox says by itself of a broken line is no fault of the page. */
export function errorsOf(page) {
  const errors = [];
  page.on("pageerror", ({ message }) => {
    if (!/^The Same Origin Policy .* CORS request did not succeed/.test(message)) errors.push(message);
  });
  return errors;
}

/** The next file that arrives in a folder, for drivers that do not tell of it; one on its way has another name. */
export async function download(folder) {
  const before = new Set(readdirSync(folder));
  const isWhole = (name) => !before.has(name) && !/^\.|\.(wkdownload|part)$/.test(name);
  const name = await eventually("a file arrives", () => {
    const now = readdirSync(folder);
    return !now.some((one) => one.endsWith(".part")) && now.find(isWhole);
  });
  return { suggestedFilename: () => name, path: async () => join(folder, name) };
}

/** Which engine the pages are looked at with. */
export const engine = process.env.WEBKIT_DRIVER ? "webkit" : process.env.FIREFOX_DRIVER ? "firefox" : "chromium";

export async function startBrowser(args = []) {
  if (engine === "webkit") return (await import("./webkit/browser.mjs")).startWebKit(process.env.WEBKIT_DRIVER);
  if (engine === "firefox") return startFirefox(process.env.FIREFOX_DRIVER);
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

/**
 * The system's Firefox. The driver is a playwright-core of another version than ours, 1.57.0: later ones want of it what it
 * does not have, and this one must not pretend a look. A look is a setting of Firefox itself: each has a Firefox of its own.
 */
async function startFirefox(driver) {
  const { firefox } = await import(driver);
  const started = new Map();
  const downloads = mkdtempSync(join(tmpdir(), "castalia-downloads-"));
  const start = (look) =>
    firefox.launch({
      channel: "moz-firefox",
      executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
      firefoxUserPrefs: {
        "layout.css.prefers-color-scheme.content-override": look.startsWith("dark") ? 0 : 1,
        "ui.prefersReducedMotion": look.endsWith("reduce") ? 1 : 0,
        "dom.disable_window_flip": false, // a page may take the focus back from the browser's bars
        "browser.download.folderList": 2,
        "browser.download.dir": downloads,
        "browser.download.always_ask_before_handling_new_types": false,
      },
    });
  const asIs = { colorScheme: null, reducedMotion: null, forcedColors: null, contrast: null };
  async function newContext({ colorScheme = "light", reducedMotion = "", permissions: _, ...options } = {}) {
    const look = `${colorScheme} ${reducedMotion}`;
    if (!started.has(look)) started.set(look, start(look));
    const context = await (await started.get(look)).newContext({ ...asIs, ...options });
    await context.addInitScript(keepChooser);
    context.on("page", (page) => {
      const { waitForEvent } = page;
      page.waitForEvent = (name, ...rest) => {
        if (name === "download") return download(downloads);
        return name === "filechooser" ? chooserOf(page) : waitForEvent.call(page, name, ...rest);
      };
    });
    return context;
  }
  return {
    newContext,
    newPage: async (options) => (await newContext(options)).newPage(),
    async close() {
      await Promise.all([...started.values()].map(async (one) => (await one).close()));
      rmSync(downloads, { recursive: true, force: true });
    },
  };
}
