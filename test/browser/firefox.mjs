// A Firefox with made-up devices, driven by the protocol that it speaks itself (WebDriver BiDi).
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { eventually } from "./world.mjs";

/** Devices without a question, sound without a click, and addresses of this machine. */
const preferences = {
  "media.navigator.streams.fake": true,
  "media.navigator.permission.disabled": true,
  "media.autoplay.default": 0,
  "media.peerconnection.ice.loopback": true,
  "media.peerconnection.ice.obfuscate_host_addresses": false,
  "browser.shell.checkDefaultBrowser": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "app.update.enabled": false,
};

function program() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found = ["firefox-esr", "firefox"]
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find(existsSync);
  if (!found) throw new Error("there is no Firefox: install the Debian package firefox-esr");
  return found;
}

/** Starts Firefox; a page of it is opened by open(url, prepare). */
export async function startFirefox() {
  const profile = mkdtempSync(join(tmpdir(), "castalia-firefox-"));
  const lines = Object.entries(preferences).map(
    ([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`,
  );
  writeFileSync(join(profile, "user.js"), lines.join("\n"));
  const firefox = spawn(
    program(),
    ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0"],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  const ended = new Promise((done) => firefox.once("exit", done));
  const address = await new Promise((done, fail) => {
    firefox.once("exit", () => fail(new Error("Firefox ended at once")));
    createInterface({ input: firefox.stderr }).on("line", (line) => {
      const at = /BiDi listening on (ws:\S+)/.exec(line);
      if (at) done(at[1]);
    });
  });
  const line = await connected(`${address}/session`);
  await line.ask("session.new", { capabilities: {} });
  return {
    open: (url, prepare) => opened(line, url, prepare),
    async close() {
      await line.ask("browser.close", {}).catch(() => undefined);
      firefox.kill("SIGTERM");
      await ended;
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

/** Questions and their answers over a socket. */
async function connected(url) {
  const socket = new WebSocket(url);
  await new Promise((done, fail) => {
    socket.onopen = done;
    socket.onerror = () => fail(new Error(`nobody answers at ${url}`));
  });
  const waiting = new Map();
  const listeners = new Set();
  let last = 0;
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.type === "event") for (const listener of listeners) listener(message);
    const { done, fail } = waiting.get(message.id) ?? {};
    waiting.delete(message.id);
    if (message.type === "success") done?.(message.result);
    else if (message.type === "error") fail?.(new Error(`${message.error}: ${message.message}`));
  };
  return {
    listen: (listener) => listeners.add(listener),
    ask: (method, params) =>
      new Promise((done, fail) => {
        waiting.set(++last, { done, fail });
        socket.send(JSON.stringify({ id: last, method, params }));
      }),
  };
}

/** A tab of a person of its own, and everything that went wrong on it. */
async function opened(line, url, prepare) {
  const { userContext } = await line.ask("browser.createUserContext", {});
  const { context } = await line.ask("browsingContext.create", { type: "tab", userContext });
  const faults = [];
  line.listen(({ method, params }) => {
    if (method === "log.entryAdded" && params.level === "error" && params.source.context === context)
      faults.push(params.text);
  });
  await line.ask("session.subscribe", { events: ["log.entryAdded"], contexts: [context] });
  if (prepare) {
    await line.ask("script.addPreloadScript", {
      functionDeclaration: String(prepare),
      contexts: [context],
    });
  }
  const evaluate = async (work, ...args) => {
    const { result, exceptionDetails } = await line.ask("script.evaluate", {
      expression: `(async () => JSON.stringify(await (${work})(...${JSON.stringify(args)})))()`,
      target: { context },
      awaitPromise: true,
      userActivation: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.text);
    return result.value === undefined ? undefined : JSON.parse(result.value);
  };
  await line.ask("browsingContext.navigate", { context, url, wait: "complete" });
  return {
    faults,
    evaluate,
    reload: () => line.ask("browsingContext.reload", { context, wait: "complete" }),
    /** Clicks what is called so, once it is there. */
    click: (selector, name) =>
      eventually(`${name} can be clicked`, () =>
        evaluate(
          (selector, name) => {
            const called = (e) => (e.getAttribute("aria-label") ?? e.textContent).includes(name);
            const found = [...document.querySelectorAll(selector)].find(called);
            if (!found || found.disabled) return false;
            found.click();
            return true;
          },
          selector,
          name,
        ),
      ),
    /** Waits until something of the selector says so. */
    shows: (selector, text) =>
      eventually(`${selector} shows ${text}`, () =>
        evaluate(
          (selector, text) =>
            [...document.querySelectorAll(selector)].some((e) => new RegExp(text).test(e.textContent)),
          selector,
          text,
        ),
      ),
    close: () => line.ask("browser.removeUserContext", { userContext }),
  };
}
