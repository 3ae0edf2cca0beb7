// A page of WebKit with the face of Playwright's pages, as far as our tests use it: what is written for one engine is run in
// the others.
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { download, eventually } from "../world.mjs";
import { find, isSeen } from "./finder.mjs";

const keys = {
  Tab: "\uE004",
  Enter: "\uE007",
  Escape: "\uE00C",
  Space: " ",
  Backspace: "\uE003",
  Delete: "\uE017",
  ArrowLeft: "\uE012",
  ArrowUp: "\uE013",
  ArrowRight: "\uE014",
  ArrowDown: "\uE015",
  Home: "\uE011",
  End: "\uE010",
  PageUp: "\uE00E",
  PageDown: "\uE00F",
  Shift: "\uE008",
  Control: "\uE009",
  Alt: "\uE00A",
};
const elementKey = "element-6066-11e4-a52e-4f735466cecf";

/** A text or a pattern as the finder takes it. */
const wanted = (want) => (want instanceof RegExp ? { source: want.source, flags: want.flags } : { text: String(want) });

function locator(page, steps) {
  const then = (...more) => locator(page, [...steps, ...more]);
  const what = JSON.stringify(steps);
  /** Runs work(elements, ...args) in the page. */
  const on = (work, ...args) => page.run(`((all, args) => (${work})(all, ...args))((${find})(${what}), ${JSON.stringify(args)})`);
  /** The only element, once it is there; strict, as more than one would be found by chance. */
  const one = (work, ...args) =>
    eventually(`there is one ${what}`, async () => {
      const { count, value } = await page.run(
        `(async (all, args) => ({ count: all.length, value: all.length === 1 ? await (${work})(all[0], ...args) : undefined }))((${find})(${what}), ${JSON.stringify(args)})`,
      );
      if (count > 1) throw new Error(`there are ${count} of them`);
      return count === 1 && { value };
    }).then(({ value }) => value);
  /** Does something with the element by the driver, as soon as it can be done. */
  const act = (name, isReady, work) =>
    eventually(`${name} ${what}`, async () => {
      const { count, element } = await page.element(
        `((all) => ({ count: all.length, element: all.length === 1 && (${isReady})(all[0]) ? all[0] : null }))((${find})(${what}))`,
      );
      if (count > 1) throw new Error(`there are ${count} of them`);
      if (!element) return false;
      await work(element);
      return true;
    });
  // In the middle of the window nothing that is fixed to its edges covers it.
  const canBeUsed = `(e) => {
    if (e.matches(":disabled") || !(${isSeen})(e)) return false;
    const { left, top, width, height } = e.getBoundingClientRect();
    const there = document.elementFromPoint(left + width / 2, top + height / 2);
    if (!e.contains(there) && !there?.contains(e)) e.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    return true;
  }`;
  const self = {
    steps,
    getByRole: (role, { name, exact, level } = {}) => then({ kind: "role", role, name: name === undefined ? undefined : wanted(name), exact, level }),
    getByText: (want, { exact } = {}) => then({ kind: "text", want: wanted(want), exact: exact && !(want instanceof RegExp) }),
    getByLabel: (want, { exact } = {}) => then({ kind: "label", want: wanted(want), exact }),
    locator: (css, options) => then({ kind: "css", css }).filter(options),
    filter: ({ hasText, has } = {}) =>
      hasText === undefined && has === undefined ? self : then({ kind: "filter", hasText: hasText === undefined ? undefined : wanted(hasText), has: has?.steps }),
    and: (other) => then({ kind: "and", steps: other.steps }),
    or: (other) => then({ kind: "or", steps: other.steps }),
    first: () => then({ kind: "nth", n: 0 }),
    last: () => then({ kind: "nth", n: -1 }),
    nth: (n) => then({ kind: "nth", n }),

    count: () => on((all) => all.length),
    allTextContents: () => on((all) => all.map((e) => e.textContent)),
    allInnerTexts: () => on((all) => all.map((e) => e.innerText)),
    isVisible: () => on(`(all) => all.length > 0 && (${isSeen})(all[0])`),
    textContent: () => one((e) => e.textContent),
    innerText: () => one((e) => e.innerText),
    inputValue: () => one((e) => e.value),
    getAttribute: (name) => one((e, name) => e.getAttribute(name), name),
    boundingBox: () => one((e) => e.getBoundingClientRect().toJSON()),
    evaluate: (work, arg) => one(work, arg),
    waitFor({ state = "visible" } = {}) {
      const states = {
        visible: `(all) => { if (all.length > 1) throw new Error("there are " + all.length + " of them"); return all.length === 1 && (${isSeen})(all[0]); }`,
        hidden: `(all) => !all.some(${isSeen})`,
        attached: "(all) => all.length > 0",
        detached: "(all) => all.length === 0",
      };
      return eventually(`${what} is ${state}`, () => on(states[state]));
    },

    click: () => act("click", canBeUsed, (element) => page.ask("POST", `/element/${element}/click`)),
    hover: () =>
      act("point at", canBeUsed, (element) =>
        page.ask("POST", "/actions", {
          actions: [
            { type: "pointer", id: "mouse", actions: [{ type: "pointerMove", duration: 0, x: 0, y: 0, origin: { [elementKey]: element } }] },
          ],
        }),
      ),
    focus: () => one((e) => e.focus()),
    dispatchEvent: (type) => one((e, type) => void e.dispatchEvent(new Event(type, { bubbles: true })), type),
    async press(key) {
      await self.focus();
      await page.keyboard.press(key);
    },
    async pressSequentially(text) {
      await self.focus();
      await page.keyboard.type(text);
    },
    async fill(text) {
      await act("fill", canBeUsed, () => undefined);
      await one((e, text) => {
        e.focus();
        const isTyped = /^(textarea|text|search|password|email|url|tel)$/.test(e.type);
        if (isTyped) e.select();
        if (isTyped && document.execCommand(text ? "insertText" : "delete", false, text)) return;
        const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(e), "value");
        set.call(e, text);
        for (const type of ["input", "change"]) e.dispatchEvent(new Event(type, { bubbles: true }));
      }, text);
    },
    async setChecked(want) {
      if ((await one((e) => e.checked)) !== want) await self.click();
      await eventually(`${what} is ${want ? "" : "not "}checked`, async () => (await one((e) => e.checked)) === want);
    },
    check: () => self.setChecked(true),
    uncheck: () => self.setChecked(false),
    selectOption: (want) =>
      one((e, want) => {
        const option = [...e.options].find((o) => o.value === want || o.label === want);
        const { set } = Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, "value");
        set.call(e, option.value);
        for (const type of ["input", "change"]) e.dispatchEvent(new Event(type, { bubbles: true }));
      }, want),
    setInputFiles(files) {
      const folder = mkdtempSync(join(page.files, "chosen-"));
      const paths = [files].flat().map(({ name, buffer }) => {
        writeFileSync(join(folder, name), buffer);
        return join(folder, name);
      });
      return act("choose files for", "() => true", (element) => page.ask("POST", `/element/${element}/value`, { text: paths.join("\n") }));
    },
  };
  return self;
}

/** The page in the window of that handle. */
export function newPage({ session, proxy, handle, id, alone, events }) {
  const { on, emit } = events;
  let href = "about:blank";
  const files = join(session.home, "files");
  mkdirSync(files, { recursive: true });
  /** One at a time, in this window; the next document is this page's. */
  const ask = (method, path, body) =>
    alone(handle, () => {
      proxy.turnTo(id);
      return session.ask(method, path, body);
    });
  /** The value of an expression in the page. */
  async function run(expression) {
    const script = `const done = arguments[arguments.length - 1];
      Promise.resolve().then(() => (${expression})).then(
        (value) => done(JSON.stringify({ value, href: location.href })),
        (e) => done(JSON.stringify({ error: e instanceof Error ? e.message : String(e) })));`;
    const told = JSON.parse(await ask("POST", "/execute/async", { script, args: [] }));
    if (told.error !== undefined) throw new Error(told.error);
    href = told.href;
    return told.value;
  }
  async function element(expression) {
    const { count, element } = await ask("POST", "/execute/sync", { script: `return ${expression}`, args: [] });
    return { count, element: element?.[elementKey] };
  }
  const press = (names) => {
    const values = names.map((name) => keys[name] ?? name);
    const down = values.map((value) => ({ type: "keyDown", value }));
    const up = values.toReversed().map((value) => ({ type: "keyUp", value }));
    return ask("POST", "/actions", { actions: [{ type: "key", id: "keys", actions: [...down, ...up] }] });
  };
  const heard = (kind, isIt) =>
    new Promise((done) => {
      const off = on(kind, (value) => isIt(value) && (off(), done(value)));
    });
  const page = {
    ask,
    run,
    element,
    files,
    on,
    emit,
    setDefaultTimeout: () => undefined,
    addInitScript: async (script) => proxy.addScript(`(${script})();`),
    async goto(url) {
      await ask("POST", "/url", { url });
      href = url;
      await run("0");
    },
    reload: () => ask("POST", "/refresh"),
    url: () => href,
    title: () => run("document.title"),
    evaluate: (work, ...args) =>
      typeof work === "string" ? run(`(() => { ${work} })()`) : run(`(${work})(...${JSON.stringify(args)})`),
    waitForFunction: (work, ...args) => eventually(String(work), () => page.evaluate(work, ...args)),
    async setViewportSize({ width, height }) {
      const [w, h] = await run("[outerWidth - innerWidth, outerHeight - innerHeight]");
      await ask("POST", "/window/rect", { x: 0, y: 0, width: width + w, height: height + h });
      await eventually(`the window is ${width} wide`, async () => (await run("innerWidth")) === width);
    },
    async screenshot({ path } = {}) {
      const picture = Buffer.from(await ask("GET", "/screenshot"), "base64");
      if (path) writeFileSync(path, picture);
      return picture;
    },
    keyboard: {
      press: (key) => press(key === "+" ? ["+"] : key.split("+")),
      /** In one request: keys that belong together come one after the other, however busy the machine is. */
      type: (text) =>
        ask("POST", "/actions", {
          actions: [{ type: "key", id: "keys", actions: [...text].flatMap((value) => ["keyDown", "keyUp"].map((type) => ({ type, value }))) }],
        }),
    },
    route: async (pattern, handler) => proxy.route(pattern, handler),
    unroute: async (pattern) => proxy.unroute(pattern),
    waitForRequest: (want) => heard("asked", (r) => (typeof want === "function" ? want(r) : proxy.matches(want, r.url()))),
    waitForResponse: (want) => heard("answered", (r) => (typeof want === "function" ? want(r) : proxy.matches(want, r.url()))),
    async waitForEvent(name) {
      if (name === "download") return download(session.home);
      await eventually("files are asked for", () => run("globalThis.castaliaChooser !== undefined"));
      const input = locator(page, [{ kind: "chooser" }]);
      return {
        async setFiles(files) {
          await input.setInputFiles(files);
          await run("void (globalThis.castaliaChooser = undefined)");
        },
      };
    },
    request: {
      get: (url) => asked(url),
      post: (url, { data }) =>
        asked(url, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(data) }),
    },
    close: () => ask("DELETE", "/window"),
  };
  const { getByRole, getByText, getByLabel, locator: byCss } = locator(page, []);
  return Object.assign(page, { getByRole, getByText, getByLabel, locator: byCss });
}

async function asked(url, init) {
  const reply = await fetch(url, init);
  return { status: () => reply.status, text: () => reply.text() };
}
