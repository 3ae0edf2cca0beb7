// A registry of packages on this machine: what a project has installed, and packages from files. So an
// installation is tested as a newcomer does it, and nothing is asked of the network.
import { execFile, execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { startSite } from "./site.mjs";

const run = promisify(execFile);

/** Starts it with what npm installed in a project, and with packages as npm packs them. */
export async function startRegistry(project, tarballs) {
  /** By name and version: what a package says of itself, and how its tarball is made. */
  const offered = new Map();
  const offer = (about, pack) =>
    offered.set(about.name, new Map(offered.get(about.name)).set(about.version, { about, pack }));

  const known = JSON.parse(readFileSync(join(project, "node_modules/.package-lock.json"), "utf8")).packages;
  for (const [path, { link }] of Object.entries(known)) {
    const folder = join(project, path);
    // Those for other machines are known and not installed.
    if (link || !existsSync(join(folder, "package.json"))) continue;
    offer(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")), () => packed(folder));
  }
  for (const tarball of tarballs) {
    const inside = execFileSync("tar", ["xzOf", tarball, "package/package.json"], { encoding: "utf8" });
    offer(JSON.parse(inside), async () => readFileSync(tarball));
  }

  const site = await startSite((request, reply) => {
    const [name, version] = decodeURIComponent(request.url.slice(1)).split("/-/");
    const versions = offered.get(name);
    if (version) {
      const one = versions?.get(version);
      if (!one) return void reply.writeHead(404).end();
      return void one.pack().then(
        (content) => reply.end(content),
        (cause) => reply.writeHead(500).end(String(cause)),
      );
    }
    if (!versions) return void reply.writeHead(404).end("{}");
    const all = [...versions].map(([version, { about }]) => [
      version,
      { ...about, dist: { tarball: `${site.url}/${name}/-/${version}` } },
    ]);
    reply.setHeader("Content-Type", "application/json");
    reply.end(JSON.stringify({ name, "dist-tags": { latest: all[0][0] }, versions: Object.fromEntries(all) }));
  });
  return site;
}

/** An installed package, packed again: quickly rather than small. */
async function packed(folder) {
  const args = ["-I", "gzip -1", "-C", folder, "--exclude=./node_modules", "--transform=s,^\\.,package,", "-cf", "-", "."];
  return (await run("tar", args, { encoding: "buffer", maxBuffer: 1 << 28 })).stdout;
}
