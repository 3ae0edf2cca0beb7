import { copyFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { defineConfig, type UserConfig } from "tsdown";

/** What stands in for parts of the socket client, by how it imports them. */
const standIns: Record<string, string> = {
  "./transports/index.js": "scripts/transports.js",
  "./contrib/base64-arraybuffer.js": "scripts/base64.js",
  "./contrib/parseuri.js": "scripts/parseuri.js",
  "./binary.js": "scripts/binary.js",
  "./is-binary.js": "scripts/binary.js",
};

/**
 * Pages speak WebSocket alone: the other transports of the socket client stay
 * out of the bundle, and so does what browsers have themselves.
 */
const webSocketOnly = {
  name: "websocket-only",
  resolveId: (id: string, importer?: string) =>
    standIns[id] && /(engine|socket)\.io-(client|parser)/.test(importer ?? "")
      ? fileURLToPath(new URL(standIns[id], import.meta.url))
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
