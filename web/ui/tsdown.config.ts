import { copyFile } from "node:fs/promises";
import { defineConfig, type UserConfig } from "tsdown";

const common: UserConfig = {
  format: ["esm", "cjs"],
  target: "es2022",
  platform: "browser",
  external: [/^react/, /^@castalia\//, "marked"],
};

/** What can be imported; package.json names the same. */
const entry: Record<string, string> = { index: "src/index.ts", parts: "src/parts/index.ts" };

// One build of the code, so that the entries share their labels; one of the types for each
// entry, so that each surface can be read by itself, as in the client.
const types = (name: string, source: string): UserConfig => ({
  ...common,
  entry: { [name]: source },
  format: "esm",
  clean: false,
  dts: { emitDtsOnly: true },
  onSuccess: () => copyFile(`dist/${name}.d.ts`, `dist/${name}.d.cts`),
});

export default defineConfig([
  {
    ...common,
    entry,
    // Components run in browsers: frameworks that render on servers ask for the mark.
    outputOptions: { banner: '"use client";' },
    inputOptions: (options) => ({ ...options, platform: "browser" }),
    sourcemap: true,
    dts: false,
  },
  ...Object.entries(entry).map(([name, source]) => types(name, source)),
]);
