import { defineConfig } from "tsdown";

export default defineConfig({
  entry: { index: "src/index.ts" },
  format: ["esm", "cjs"],
  dts: { compilerOptions: { stripInternal: true } },
  sourcemap: true,
  target: "es2022",
  platform: "browser",
  external: [/^react/, "zod"],
});
