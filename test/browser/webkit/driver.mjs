// One WebKit with a screen and a home folder of its own, spoken to by WebDriver.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, freePort } from "../world.mjs";

/** The plain browser that comes with WebKitGTK, wherever a distribution puts it. */
function miniBrowser() {
  const folders = ["/usr/libexec", "/usr/lib64", "/usr/lib", ...readdirSync("/usr/lib").map((name) => `/usr/lib/${name}`)];
  const found = folders.map((folder) => join(folder, "webkit2gtk-4.1/MiniBrowser")).find(existsSync);
  if (!found) throw new Error("there is no MiniBrowser: install the Debian package libwebkit2gtk-4.1-0");
  return found;
}

/** A process that is ended, and waited for. */
function start(command, args, options) {
  const process = spawn(command, args, options);
  const ended = new Promise((done) => process.once("exit", done));
  const failed = new Promise((_, fail) => {
    process.once("error", (cause) => fail(new Error(`${command} does not start: install the Debian packages webkit2gtk-driver and xvfb`, { cause })));
    process.once("exit", (code) => fail(new Error(`${command} ended with ${code}`)));
  });
  failed.catch(() => undefined);
  return {
    process,
    failed,
    async stop() {
      process.kill("SIGTERM");
      await ended;
    },
  };
}

/** A screen that nobody sees; the server itself says which number it got. */
async function startScreen() {
  const args = ["-displayfd", "3", "-screen", "0", "1920x1200x24", "-nolisten", "tcp"];
  const screen = start("Xvfb", args, { stdio: ["ignore", "ignore", "ignore", "pipe"] });
  const number = new Promise((done) => screen.process.stdio[3].once("data", (text) => done(String(text).trim())));
  return { display: `:${await Promise.race([number, screen.failed])}`, stop: screen.stop };
}

/** What can only be chosen when the browser starts: its look, its language, its proxy. */
function furnish({ reducedMotion }) {
  const home = mkdtempSync(join(tmpdir(), "castalia-webkit-"));
  const gtk = join(home, ".config/gtk-3.0");
  mkdirSync(gtk, { recursive: true });
  // Without this the browser's own buttons would keep its window wider than a telephone.
  writeFileSync(join(gtk, "gtk.css"), "* { font-size: 1px; padding: 0; margin: 0; min-width: 0; min-height: 0; border-width: 0; }\n");
  if (reducedMotion === "reduce") writeFileSync(join(gtk, "settings.ini"), "[Settings]\ngtk-enable-animations=0\n");
  return home;
}

/** Starts a browser; ask(method, path, body) speaks to its session. */
export async function startSession({ driver, proxy, colorScheme, reducedMotion, locale = "en-US" }) {
  const home = furnish({ reducedMotion });
  const screen = await startScreen();
  const port = await freePort();
  const env = {
    PATH: process.env.PATH,
    DISPLAY: screen.display,
    HOME: home,
    XDG_RUNTIME_DIR: home,
    LANGUAGE: locale.replace("-", "_"),
    LANG: `${locale.replace("-", "_")}.UTF-8`,
  };
  const server = start(driver, ["-p", String(port)], { env, stdio: "ignore" });
  const call = async (method, path, body) => {
    const init = method === "POST" ? { method, body: JSON.stringify(body ?? {}) } : { method };
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, init);
    const { value } = await reply.json();
    if (!reply.ok) throw Object.assign(new Error(`${value.error}: ${value.message}`), { code: value.error });
    return value;
  };
  await Promise.race([eventually("the driver listens", () => call("GET", "/status")), server.failed]);
  const args = ["--automation", ...(colorScheme === "dark" ? ["--dark-mode"] : [])];
  const { sessionId } = await call("POST", "/session", {
    capabilities: {
      alwaysMatch: {
        browserName: "MiniBrowser",
        "webkitgtk:browserOptions": { binary: miniBrowser(), args },
        proxy: { proxyType: "manual", httpProxy: proxy },
        timeouts: { script: 120_000, pageLoad: 120_000 },
      },
    },
  });
  return {
    /** Where downloads arrive. */
    home,
    ask: (method, path, body) => call(method, `/session/${sessionId}${path}`, body),
    async stop() {
      await call("DELETE", `/session/${sessionId}`).catch(() => undefined);
      await server.stop();
      await screen.stop();
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
