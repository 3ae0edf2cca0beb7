// Runs the browser tests, or the files that are named, with Node's own runner. What only the
// long run does (CASTALIA_LONG) is the console against a fleet: the same tests as against one node.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL(".", import.meta.url));
const named = process.argv.slice(2);
const long = process.env.CASTALIA_LONG ? [] : ["fleet.test.mjs"];
const all = () => readdirSync(folder).filter((name) => name.endsWith(".test.mjs") && !long.includes(name));
const files = named.length > 0 ? named : all();
// Node 20 has the socket that Firefox is driven by, and does not show it by itself.
const node = typeof WebSocket === "undefined" ? ["--experimental-websocket"] : [];
const run = spawnSync(process.execPath, [...node, "--test", "--test-concurrency=2", ...files.map((f) => folder + f)], {
  stdio: "inherit",
});
process.exit(run.status ?? 1);
