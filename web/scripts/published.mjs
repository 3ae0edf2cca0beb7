// Looks at the package as a registry would get it: publint says whether every
// way of importing it works, attw whether the types are right in each. Needs a
// build.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { about, folder as source } from "./entries.mjs";

const folder = mkdtempSync(join(tmpdir(), "castalia-package-"));
const run = (program, ...args) =>
  execFileSync(program, args, { cwd: source, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
try {
  run("npm", "pack", "--ignore-scripts", "--pack-destination", folder);
  run("npx", "--no-install", "publint", "--strict");
  const [packed] = readdirSync(folder);
  // A worker is a module and nothing else: it is given to Worker, not required. A sheet has no types.
  const apart = Object.keys(about.exports).filter((path) => /worker|\.css/.test(path));
  const aside = apart.length > 0 ? ["--exclude-entrypoints", ...apart] : [];
  run("npx", "--no-install", "attw", "--format", "ascii", join(folder, packed), ...aside);
  process.stdout.write(`${about.name} is clean for publint and attw\n`);
} catch (error) {
  process.stderr.write(`${error.stdout ?? ""}${error.stderr ?? error}\n`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
