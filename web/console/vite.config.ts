import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, URL } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
import { words } from "./scripts/words";

/** What is smaller is in one packet anyway. */
const worthwhile = 1400;

/** Puts compressed forms beside the assets: the program sends them as they are. */
const compressed: Plugin = {
  name: "compressed",
  apply: "build",
  async writeBundle({ dir = "" }) {
    const folder = join(dir, "assets");
    for (const name of await readdir(folder)) {
      const file = join(folder, name);
      const bytes = await readFile(file);
      if (!/\.(js|css|svg)$/.test(name) || bytes.length < worthwhile) continue;
      const size = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
      await writeFile(`${file}.br`, brotliCompressSync(bytes, { params: size }));
      await writeFile(`${file}.gz`, gzipSync(bytes, { level: 9 }));
    }
  },
};

/**
 * What everything stands on is one script. Left to itself the bundler puts its helpers into
 * whatever page comes first, and a circle of scripts that wait for each other never starts.
 */
const ground = {
  name: "ground",
  test: /node_modules\/(react|react-dom|scheduler)\/|src\/shell\/(icons|format)\.|src\/words\/(index|message)\.|ui\/src\/(labels|parts\/Icon)\./,
};

/** A key and what it signs with. In one script it is smaller than in the five that its users would share. */
const signing = {
  name: "signing",
  test: /node_modules\/@noble\/|client\/src\/wallet\/|src\/identity\/(vault|copyDue|operating)\./,
};

/**
 * The libraries' sources: a page takes of them what it needs, module by module. Of its build
 * the first page would take whole entries. The worker is one file in both.
 */
const library = fileURLToPath(new URL("../client/src/", import.meta.url));
const components = fileURLToPath(new URL("../ui/src/", import.meta.url));
const entries = ["approvals", "attachments", "knowledge", "live-agent", "wallet"];
const sources = [
  { find: /^@castalia\/oracles-client$/, replacement: `${library}index.ts` },
  ...entries.map((entry) => ({
    find: `@castalia/oracles-client/${entry}`,
    replacement: `${library}${entry}/index.ts`,
  })),
  { find: /^@castalia\/oracles-ui$/, replacement: `${components}index.ts` },
  { find: "@castalia/oracles-ui/parts", replacement: `${components}parts/index.ts` },
];

export default defineConfig({
  base: "/console/",
  plugins: [react(), words(), compressed],
  resolve: { alias: sources, dedupe: ["react", "react-dom"] },
  build: {
    target: "es2022",
    sourcemap: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: { index: "index.html", signer: "src/identity/signer.ts" },
      // The page at /docs knows the signer by its name and calls what it exports.
      preserveEntrySignatures: "exports-only",
      output: {
        codeSplitting: { groups: [ground, signing] },
        entryFileNames: ({ name }) => (name === "signer" ? "[name].js" : "assets/[name]-[hash].js"),
      },
    },
  },
  server: { proxy: { "^/(?!console/)": "http://127.0.0.1:3000" } },
});
