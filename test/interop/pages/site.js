// The pages, bundled and served from an origin of their own, and a real browser that goes nowhere but to this machine.
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const here = resolve(fileURLToPath(import.meta.url), "..");

export class Site {
  static async start(...pages) {
    const site = new Site();
    site.folder = mkdtempSync(join(tmpdir(), "castalia-pages-"));
    await build({
      absWorkingDir: here,
      entryPoints: pages.map((name) => `${name}.jsx`),
      outdir: site.folder,
      bundle: true,
      splitting: true,
      format: "esm",
      jsx: "automatic",
      target: "es2022",
      loader: { ".css": "empty" }, // how it looks is not asked here
      define: { "process.env.NODE_ENV": '"production"' },
      logLevel: "error",
    });
    site.server = createServer((request, response) => {
      const name = basename(new URL(request.url, "http://page").pathname);
      if (pages.includes(name)) {
        response.writeHead(200, { "content-type": "text/html" });
        return response.end(`<!doctype html><meta charset="utf-8"><title>${name}</title><div id="root"></div><script type="module" src="/${name}.js"></script>`);
      }
      try {
        const text = readFileSync(join(site.folder, name));
        response.writeHead(200, { "content-type": name.endsWith(".js") ? "text/javascript" : "application/octet-stream" }).end(text);
      } catch {
        response.writeHead(404).end();
      }
    });
    site.server.listen(0, "127.0.0.1");
    await once(site.server, "listening");
    site.url = `http://127.0.0.1:${site.server.address().port}`;
    site.browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
    });
    return site;
  }

  /** A tab of its own with a page, which is told where the oracle is; it is closed when the test ends. */
  async open(t, name, about) {
    const context = await this.browser.newContext();
    t.after(() => context.close());
    await context.route((url) => url.hostname !== "127.0.0.1", (route) => route.abort());
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    const problems = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    t.after(() => problems.length > 0 && t.diagnostic(`the page complained: ${problems.join("; ")}`));
    await page.goto(`${this.url}/${name}#${new URLSearchParams(about)}`);
    return page;
  }

  async stop() {
    await this.browser?.close();
    this.server.closeAllConnections();
    this.server.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
