// Bundles the main entry as a page would, with the socket client and without
// React and zod, and refuses it when it has grown over its limit. Needs a build.
import process from "node:process";
import { fileURLToPath, URL } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const limit = 25_000;

const made = await build({
  configFile: false,
  logLevel: "error",
  build: {
    write: false,
    minify: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    rollupOptions: {
      input: fileURLToPath(new URL("../dist/index.js", import.meta.url)),
      external: [/^react/, /^zod/],
      preserveEntrySignatures: "strict",
      output: { format: "es" },
    },
  },
});
const size = gzipSync(made.output.map((chunk) => chunk.code ?? "").join(""), { level: 9 }).length;
process.stdout.write(`main entry with the socket client: ${size} bytes gzip, limit ${limit}\n`);
if (size > limit) process.exit(1);
