// Pages of the libraries as a bundler makes them, from what was built.
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const root = resolve(fileURLToPath(import.meta.url), "../../..");
const here = (path) => join(root, path);
const require = createRequire(here("web/package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);

/** Builds a folder beside this file and serves it until it is stopped. */
export async function servePage(folder) {
  const vite = await load("vite");
  const { default: react } = await load("@vitejs/plugin-react");
  const out = mkdtempSync(join(tmpdir(), "castalia-page-"));
  const config = {
    configFile: false,
    root: here(`test/browser/${folder}`),
    logLevel: "error",
    plugins: [react()],
    resolve: {
      alias: [
        { find: /^@castalia\/oracles-(client|ui)\/([\w-]+)$/, replacement: here("web/$1/dist/$2.js") },
        { find: /^@castalia\/oracles-(client|ui)$/, replacement: here("web/$1/dist/index.js") },
        { find: "@castalia/oracles-ui/styles.css", replacement: here("web/ui/styles.css") },
        { find: /^react(\/.*)?$/, replacement: here("web/node_modules/react$1") },
        { find: /^react-dom(\/.*)?$/, replacement: here("web/node_modules/react-dom$1") },
      ],
    },
    build: { outDir: out, emptyOutDir: true, target: "es2022" },
  };
  await vite.build(config);
  const server = await vite.preview({ ...config, preview: { port: 0, host: "127.0.0.1" } });
  return {
    url: server.resolvedUrls.local[0],
    stop: async () => {
      await server.close();
      rmSync(out, { recursive: true, force: true });
    },
  };
}
