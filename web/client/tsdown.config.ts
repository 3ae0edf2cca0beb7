import { copyFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { defineConfig, type UserConfig } from "tsdown";

/** Pages speak WebSocket alone: the other transports of the socket client stay out of the bundle. */
const webSocketOnly = {
  name: "websocket-only",
  resolveId: (id: string, importer?: string) =>
    id === "./transports/index.js" && importer?.includes("engine.io-client")
      ? fileURLToPath(new URL("scripts/transports.js", import.meta.url))
      : null,
  transform: (code: string, id: string) =>
    /engine\.io-client.*(polling|has-cors)/.test(id) ? { code, moduleSideEffects: false } : null,
};

const common: UserConfig = {
  format: ["esm", "cjs"],
  target: "es2022",
  platform: "browser",
  external: [/^react/, "zod"],
};
const index = "src/index.ts";
const liveAgent = "src/live-agent/index.ts";
const testing = "src/testing/index.ts";

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
    entry: { index, "live-agent": liveAgent, testing },
    // The builder takes CommonJS for Node's; pages require it too.
    inputOptions: (options) => ({ ...options, platform: "browser" }),
    sourcemap: true,
    dts: false,
    plugins: [webSocketOnly],
    onSuccess: "node scripts/notices.mjs",
  },
  // By itself, so that it runs as a worker of either kind.
  {
    ...common,
    entry: { "frame-worker": "src/live-agent/frame-worker.ts" },
    format: "esm",
    clean: false,
    dts: false,
  },
  types("index", index),
  types("live-agent", liveAgent),
  types("testing", testing),
]);
