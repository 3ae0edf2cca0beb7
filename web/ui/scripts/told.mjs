// Reads the pages that the guide and the README tell people to write as a strict compiler does. Needs builds of the
// client and of this package.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath, URL } from "node:url";

const here = fileURLToPath(new URL("..", import.meta.url));
const compiler = dirname(createRequire(import.meta.url).resolve("typescript/package.json"));
const told = {
  "guide.tsx": ["../../docs/guides/client.md", /## A whole page\n.*?```tsx\n(.*?)```/s],
  "readme.tsx": ["README.md", /```tsx\n(.*?)```/s],
};
// Inside, so that the packages are found.
const folder = mkdtempSync(join(here, "told-"));
try {
  for (const [file, [page, where]] of Object.entries(told)) {
    writeFileSync(join(folder, file), where.exec(readFileSync(join(here, page), "utf8"))[1]);
  }
  const how = ["--strict", "--noUncheckedIndexedAccess", "--noEmit", "--jsx", "react-jsx"];
  const where = ["--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler"];
  const args = [
    ...how,
    ...where,
    "--ignoreConfig",
    "--types",
    "react,vite/client",
    ...Object.keys(told),
  ];
  execFileSync(process.execPath, [join(compiler, "bin/tsc"), ...args], {
    cwd: folder,
    stdio: "inherit",
  });
} finally {
  rmSync(folder, { recursive: true });
}
