// Writes the licences of what is bundled beside the bundle, as they ask for.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, URL } from "node:url";

const seen = new Map();

/** A package and everything that it brings along to a browser. */
function collect(name, from) {
  if (seen.has(name)) return;
  const folder = home(name, from);
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const text = ["LICENSE", "LICENSE.md", "license"]
    .map((file) => join(folder, file))
    .find((file) => existsSync(file));
  seen.set(
    name,
    `${name} ${about.version}\n\n${text ? readFileSync(text, "utf8") : about.license}`,
  );
  for (const next of Object.keys(about.dependencies ?? {})) collect(next, join(folder, "x"));
}

function home(name, from) {
  const bases = createRequire(from).resolve.paths(name) ?? [];
  const found = bases
    .map((base) => join(base, name))
    .find((f) => existsSync(join(f, "package.json")));
  if (!found) throw new Error(`${name} is not installed`);
  return found;
}

const client = fileURLToPath(new URL("../", import.meta.url));
collect("socket.io-client", join(client, "package.json"));
writeFileSync(join(client, "dist/LICENSES.txt"), [...seen.values()].join("\n\n---\n\n"));
