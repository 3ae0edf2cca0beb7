// Bundles the entries as a page would, without React and the client, and refuses one that
// has grown over its limit; the sheet counts by itself. Needs a build.
import { readFileSync } from "node:fs";
import process from "node:process";
import { URL } from "node:url";
import { gzipSync } from "node:zlib";
import { bundled } from "../../scripts/bundled.mjs";

const here = (file) => new URL(`../${file}`, import.meta.url);
const apart = [/^react/, /^@castalia\//];
const measured = [
  ["main entry", await bundled(here("dist/index.js"), apart), 30_000],
  ["required-main entry", await bundled(here("dist/index.cjs"), apart), 31_000],
  ["parts entry", await bundled(here("dist/parts.js"), apart), 20_000],
  ["styles", readFileSync(here("styles.css")), 5_000],
];

for (const [what, code, limit] of measured) {
  const size = gzipSync(code, { level: 9 }).length;
  process.stdout.write(`ui ${what}: ${size} bytes gzip, limit ${limit}\n`);
  if (size > limit) process.exitCode = 1;
}
