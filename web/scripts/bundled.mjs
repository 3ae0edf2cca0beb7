import { fileURLToPath } from "node:url";
import { build } from "vite";

/** The scripts that a page's bundler makes of a file, without what the page has anyway. */
export async function bundled(file, external) {
  const made = await build({
    configFile: false,
    logLevel: "error",
    build: {
      write: false,
      minify: true,
      target: "es2022",
      modulePreload: { polyfill: false },
      rollupOptions: {
        input: fileURLToPath(file),
        external,
        preserveEntrySignatures: "strict",
        output: { format: "es" },
      },
    },
  });
  return made.output.map((chunk) => chunk.code ?? "").join("");
}
