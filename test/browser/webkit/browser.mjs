// The system's WebKit with the face of a Playwright browser. Every person has a browser of their own: a driver has one.
import { newPage } from "./page.mjs";
import { startProxy } from "./proxy.mjs";
import { startSession } from "./driver.mjs";

export function startWebKit(driver) {
  const open = new Set();
  async function newContext(options = {}) {
    const context = await person(driver, options);
    open.add(context);
    return context;
  }
  return {
    newContext,
    newPage: async (options) => (await newContext(options)).newPage(),
    close: () => Promise.all([...open].map((context) => context.close())),
  };
}

/** Somebody who listens to a page. */
function listeners() {
  const all = new Map();
  return {
    on(kind, listener) {
      const some = all.get(kind) ?? new Set();
      all.set(kind, some.add(listener));
      return () => some.delete(listener);
    },
    emit: (kind, value) => all.get(kind)?.forEach((listener) => listener(value)),
  };
}

/** What pages tell, as Playwright's events have it. */
const faces = {
  pageerror: (message) => ({ message }),
  console: (text) => ({ type: () => "error", text: () => text }),
  request: ({ method, url, headers }) => ({ method: () => method, url: () => url, headers: () => headers }),
};

async function person(driver, options) {
  const pages = [];
  const proxy = await startProxy((tab, kind, value) => {
    const event = faces[kind]?.(value) ?? value;
    for (const { events } of tab === undefined ? pages : pages.slice(tab, tab + 1)) events.emit(kind, event);
  });
  const session = await startSession({ driver, proxy: proxy.address, ...options });
  let last = Promise.resolve();
  let current;
  /** One command at a time, in the window that it is for. */
  const alone = (handle, work) => {
    const mine = last.then(async () => {
      if (current !== handle) await session.ask("POST", "/window", { handle });
      current = handle;
      return work();
    });
    last = mine.catch(() => undefined);
    return mine;
  };
  let isOpen = true;
  return {
    addInitScript: async (script) => proxy.addScript(`(${script})();`),
    async newPage() {
      const isFirst = pages.length === 0;
      const handle = isFirst ? await session.ask("GET", "/window") : (await session.ask("POST", "/window/new", { type: "tab" })).handle;
      const events = listeners();
      const page = newPage({ session, proxy, handle, id: pages.length, alone, events });
      pages.push({ page, events });
      if (isFirst) await page.setViewportSize(options.viewport ?? { width: 1280, height: 720 });
      return page;
    },
    async close() {
      if (!isOpen) return;
      isOpen = false;
      await last;
      await session.stop();
      proxy.stop();
    },
  };
}
