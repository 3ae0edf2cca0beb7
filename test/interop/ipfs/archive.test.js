// Archives go both ways between the program and the IPFS project's tools, with the same roots.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, it } from "node:test";
import { World } from "../world.mjs";
import { differences, exportCAR, filesOf, importCAR, read, theirs, tree, write } from "./world.js";

const seed = process.env.SEED ?? randomBytes(8).toString("hex");
const tool = resolve(import.meta.dirname, "node_modules/.bin/ipfs-car");
const folder = mkdtempSync(join(tmpdir(), "castalia-ipfs-"));

let world;
before(async () => (world = await World.start()));
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await world?.stop();
});

for (const many of [10, 6000]) {
  it(`has the roots of their builder with ${many} files in a folder: SEED=${seed}`, async () => {
    const files = tree(seed, many);
    const { root, car } = await theirs(files);
    const done = await importCAR(world, `/${many}`, car);
    assert.equal(done.root, root);
    assert.equal(done.count, files.size);
    assert.deepEqual(done.files.filter((file) => file.from), [], "files have other CIDs");
    const ours = await filesOf(await exportCAR(world, `/${many}`));
    assert.equal(ours.root, root);
    assert.deepEqual(differences(ours.files, files), []);
  });
}

it(`goes through ipfs-car: SEED=${seed}`, async () => {
  const files = tree(seed, 1200);
  write(join(folder, "from"), files);
  const packed = join(folder, "from.car");
  execFileSync(tool, ["pack", join(folder, "from"), "--no-wrap", "--output", packed]);
  const done = await importCAR(world, "/packed", readFileSync(packed));
  assert.equal(done.count, files.size);
  const exported = join(folder, "to.car");
  writeFileSync(exported, await exportCAR(world, "/packed"));
  execFileSync(tool, ["unpack", exported, "--output", join(folder, "to")]);
  assert.deepEqual(differences(read(join(folder, "to")), files), []);
});
