// The CIDs of the IPFS project's own builder are ours.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { BlackHoleBlockstore } from "blockstore-core/black-hole";
import { importBytes } from "ipfs-unixfs-importer";
import { bytes, castalia } from "../world.mjs";

const MiB = 1 << 20;
const seed = process.env.SEED ?? randomBytes(8).toString("hex");
const folder = mkdtempSync(join(tmpdir(), "castalia-cid-"));
after(() => rmSync(folder, { recursive: true, force: true }));

async function theirs(content) {
  const { cid } = await importBytes(content, new BlackHoleBlockstore(), { profile: "unixfs-v1-2025" });
  return cid.toString();
}

/** A size below the limit that the seed decides. */
function below(limit, name) {
  return bytes(`${seed}/${name}`, 6).readUIntBE(0, 6) % limit;
}

describe(`CIDs of SEED=${seed}`, () => {
  const sizes = [0, 1, MiB - 1, MiB, MiB + 1, 2 * MiB, 3 * MiB - 1, 5 * MiB, below(MiB, "small"), below(8 * MiB, "middle"), 8 * MiB + below(8 * MiB, "large"), 20 * MiB + below(MiB, "largest")];
  for (const size of sizes) {
    it(`agree on ${size} bytes`, async () => {
      const content = bytes(seed, size);
      const want = await theirs(content);
      const file = join(folder, "content");
      writeFileSync(file, content);
      assert.equal((await castalia(["cid", file])).split(/\s+/)[0], want);
      assert.equal((await castalia(["cid"], content)).split(/\s+/)[0], want, "from standard input");
    });
  }

  it("tell one changed byte", async () => {
    const content = bytes(seed, 3 * MiB);
    const before = await castalia(["cid"], content);
    content[2 * MiB] ^= 1;
    const changed = await castalia(["cid"], content);
    assert.notEqual(changed, before);
    assert.equal(changed.split(/\s+/)[0], await theirs(content));
  });
});
