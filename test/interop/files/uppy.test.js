// Uppy, with its tus plugin, uploads to the real program: it names files, not
// paths, and sends the pieces of one side by side when it is told to.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, it } from "node:test";
import { Uppy } from "@uppy/core";
import Tus from "@uppy/tus";
import { bytes, castalia, World } from "../world.mjs";

const seed = process.env.SEED ?? randomBytes(8).toString("hex");

let world;
before(async () => (world = await World.start()));
after(() => world?.stop());

for (const [name, side, size] of [["one after the other", 1, 3_000_000], ["side by side", 3, 7_000_000]]) {
  it(`takes what Uppy sends, ${name}: SEED=${seed}`, async () => {
    const uppy = new Uppy().use(Tus, {
      endpoint: `${world.url}/api/fs/upload?path=/${side}/`,
      headers: { authorization: `Bearer ${await world.token("fs/write")}` },
      chunkSize: 1 << 20,
      parallelUploads: side,
      storeFingerprintForResuming: false,
      retryDelays: null,
    });
    const contents = new Map();
    for (const file of ["sea.png", "mit Blank & Ümlaut.txt"]) {
      const content = bytes(`${seed}/${file}`, size);
      contents.set(file, content);
      uppy.addFile({ name: file, type: "image/png", data: Object.assign(content, { size }) }); // in Node its client reads buffers, which it measures as blobs
    }
    const result = await uppy.upload();
    assert.deepEqual(result.failed, []);
    assert.equal(result.successful.length, contents.size);
    for (const [file, content] of contents) {
      const { headers, body } = await world.read(`/${side}/${file}`);
      assert.ok(body.equals(content), `${file}: ${body.length} other bytes`);
      assert.equal(headers.get("x-vfs-cid"), (await castalia(["cid"], content)).split(/\s+/)[0]);
      assert.equal(headers.get("content-type"), "image/png");
      assert.equal(headers.get("x-vfs-version"), "1");
    }
  });
}
