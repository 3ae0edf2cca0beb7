// Builds the console and refuses a first page whose scripts have grown over the
// limit: what the sign-in and the start of the chat load, gzip. It refuses scripts that
// wait for each other in a circle too, for such a page stays empty. Needs the client's build.
import process from "node:process";
import { fileURLToPath, URL } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const limit = 110_000;

const root = fileURLToPath(new URL("..", import.meta.url));
const { output } = await build({ root, logLevel: "error", build: { write: false } });
const chunks = new Map(output.filter((o) => o.type === "chunk").map((o) => [o.fileName, o]));

/** A chunk with all that it loads before it runs. */
function loaded(name, all = new Set()) {
  const chunk = chunks.get(name);
  if (!chunk || all.has(name)) return all;
  all.add(name);
  for (const next of chunk.imports) loaded(next, all);
  return all;
}

/** The first circle of scripts that need each other before they run. */
function circle(name, above = [], done = new Set()) {
  if (above.includes(name)) return [...above.slice(above.indexOf(name)), name];
  if (done.has(name)) return undefined;
  done.add(name);
  for (const next of chunks.get(name)?.imports ?? []) {
    const found = circle(next, [...above, name], done);
    if (found) return found;
  }
  return undefined;
}

for (const name of chunks.keys()) {
  const found = circle(name);
  if (!found) continue;
  process.stderr.write(`scripts wait for each other: ${found.join(" -> ")}\n`);
  process.exitCode = 1;
  break;
}

const first = new Set();
for (const chunk of chunks.values()) {
  if (chunk.isEntry || chunk.facadeModuleId?.endsWith("/pages/chat/ChatPage.tsx")) {
    for (const name of loaded(chunk.fileName)) first.add(name);
  }
}
let size = 0;
for (const name of first) size += gzipSync(chunks.get(name).code, { level: 9 }).length;
process.stdout.write(`first page: ${size} bytes gzip in ${first.size} scripts, limit ${limit}\n`);
if (size > limit || first.size < 2) process.exitCode = 1;
