import { copyFile } from "node:fs/promises";
import { defineConfig, type UserConfig } from "tsdown";

const common: UserConfig = {
  format: ["esm", "cjs"],
  target: "es2022",
  platform: "browser",
  external: [/^react/, "zod"],
};

/** What can be imported; package.json names the same. */
const entry: Record<string, string> = {
  index: "src/index.ts",
  approvals: "src/approvals/index.ts",
  attachments: "src/attachments/index.ts",
  core: "src/core/index.ts",
  files: "src/files/index.ts",
  knowledge: "src/knowledge/index.ts",
  "live-agent": "src/live-agent/index.ts",
  query: "src/query/index.ts",
  testing: "src/testing/index.ts",
  wallet: "src/wallet/index.ts",
};

// One build of the code, so that the entries share the provider's context; one
// of the types for each entry, so that each surface can be read by itself. Types
// for CommonJS are a copy: a build of them would write its code over the shared
// one, with a context of its own in each entry.
const types = (name: string, source: string): UserConfig => ({
  ...common,
  entry: { [name]: source },
  format: "esm",
  clean: false,
  dts: { emitDtsOnly: true, compilerOptions: { stripInternal: true } },
  onSuccess: () => copyFile(`dist/${name}.d.ts`, `dist/${name}.d.cts`),
});

export default defineConfig([
  {
    ...common,
    entry,
    // Hooks run in browsers: frameworks that render on servers ask for the mark.
    outputOptions: { banner: '"use client";' },
    // The builder takes CommonJS for Node's; pages require it too.
    inputOptions: (options) => ({ ...options, platform: "browser" }),
    sourcemap: true,
    dts: false,
  },
  // By itself, so that it runs as a worker of either kind.
  {
    ...common,
    entry: { "frame-worker": "src/live-agent/frame-worker.ts" },
    format: "esm",
    clean: false,
    dts: true,
  },
  ...Object.entries(entry).map(([name, source]) => types(name, source)),
]);
