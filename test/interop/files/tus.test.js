// The tus project's own client uploads to the real program: in parts, cut in the
// middle, without knowing the length.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { Agent } from "node:http";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, describe, it } from "node:test";
import tus from "tus-js-client";
import { bytes, castalia, eventually, World } from "../world.mjs";

const MiB = 1 << 20;
const part = 256 << 10;
const seed = process.env.SEED ?? randomBytes(8).toString("hex");

let world;
before(async () => (world = await World.start()));
after(() => world?.stop());

/** An upload that has not started, and the promise of its last answer. */
async function prepare(path, content, options = {}) {
  const upload = new tus.Upload(content, {
    endpoint: `${world.url}/api/fs/upload`,
    headers: { authorization: `Bearer ${await world.token("fs/write")}` },
    metadata: { path, contentType: "application/x-test" },
    chunkSize: part,
    retryDelays: null,
    ...options,
  });
  upload.done = new Promise((done, fail) => {
    upload.options.onSuccess = ({ lastResponse }) => done(lastResponse);
    upload.options.onError = fail;
  });
  return upload;
}

/** A wire to the program that breaks when it has carried some bytes of the client's. */
class Wire {
  #server = createServer((near) => this.#carry(near));
  #left;

  static async open(bytes) {
    const wire = new Wire();
    wire.#left = bytes;
    wire.#server.listen(0, "127.0.0.1");
    await once(wire.#server, "listening");
    return wire;
  }

  #carry(near) {
    const far = connect(world.port, "127.0.0.1");
    for (const end of [near, far]) end.on("error", () => {});
    near.on("close", () => far.destroySoon());
    far.pipe(near);
    near.on("data", (data) => {
      far.write(data.subarray(0, this.#left));
      this.#left -= Math.min(data.length, this.#left);
      if (this.#left === 0) near.destroy();
    });
  }

  /** The client's requests go over the wire, whatever host they name. */
  get httpStack() {
    const agent = new Agent();
    agent.createConnection = () => connect(this.#server.address().port, "127.0.0.1");
    return new tus.DefaultHttpStack({ agent });
  }

  close() {
    this.#server.close();
  }
}

/** Runs an upload over a wire that breaks after some bytes; the client fails and gives up. */
async function cut(upload, after) {
  const wire = await Wire.open(after);
  upload.options.httpStack = wire.httpStack;
  upload.start();
  await assert.rejects(upload.done, "it was not cut");
  wire.close();
}

/** Where the server is with an upload. */
async function offset(url) {
  const headers = { authorization: `Bearer ${await world.token("fs/write")}`, "tus-resumable": "1.0.0" };
  const response = await fetch(url, { method: "HEAD", headers });
  return { status: response.status, at: Number(response.headers.get("upload-offset")), length: response.headers.get("upload-length") };
}

/** The file is there, with these bytes, and everybody names it by one CID. */
async function stored(path, content, answer) {
  const cid = (await castalia(["cid"], content)).split(/\s+/)[0];
  const { headers, body } = await world.read(path);
  assert.ok(body.equals(content), `${path}: ${body.length} other bytes than the ${content.length} that were sent`);
  assert.equal(headers.get("x-vfs-cid"), cid);
  assert.equal(headers.get("x-vfs-content-hash"), createHash("sha256").update(content).digest("hex"));
  assert.equal(headers.get("x-vfs-version"), "1");
  assert.equal(headers.get("content-type"), "application/x-test");
  if (answer) assert.equal(answer.getHeader("x-vfs-cid"), cid, "the upload's last answer");
}

describe(`uploads of SEED=${seed}`, () => {
  for (const [name, size, options] of [
    ["nothing", 0],
    ["less than a part", 1000],
    ["whole parts", 4 * part],
    ["many parts", 5 * MiB + 12345],
    ["one request", 3 * MiB + 1, { chunkSize: Infinity }],
    ["the first part while creating", 2 * MiB + 7, { uploadDataDuringCreation: true }],
    ["all of it while creating", 1000, { uploadDataDuringCreation: true }],
  ]) {
    it(`take ${name}`, async () => {
      const content = bytes(seed, size);
      const path = `/plain/${name}`;
      const upload = await prepare(path, content, options);
      upload.start();
      await stored(path, content, await upload.done);
    });
  }

  for (const [name, size] of [["an odd length", 2 * MiB + 777], ["whole parts", 4 * part]]) {
    it(`take a stream whose length nobody knows: ${name}`, async () => {
      const content = bytes(seed, size);
      const path = `/stream/${name}`;
      const upload = await prepare(path, Readable.from(pieces(content)), { uploadLengthDeferred: true });
      upload.start();
      await stored(path, content, await upload.done);
    });
  }

  for (const [name, deferred] of [["known", false], ["deferred", true]]) {
    it(`go on after a cut, by another client: length ${name}`, async () => {
      const content = bytes(seed, 9 * MiB + 99);
      const path = `/cut/${name}`;
      const urlStorage = new tus.FileUrlStorage(join(world.folder, `uploads-${name}.json`));
      const options = { uploadLengthDeferred: deferred, urlStorage, fingerprint: async () => path, chunkSize: 4 * MiB };
      // The content is a buffer: of a file whose length is deferred, this client's version sends a wrong Content-Length.
      const first = await prepare(path, content, options);
      await cut(first, 5 * MiB + MiB / 2);
      let left;
      await eventually(
        () => `a piece of the part that was cut is kept: ${JSON.stringify(left)}`,
        async () => (left = await offset(first.url)).at > 4 * MiB,
      );
      assert.ok(left.at < 5.5 * MiB, `${left.at} bytes are kept`);
      assert.equal(left.length, deferred ? null : String(content.length));
      await assert.rejects(world.read(path), /404/, "half a file shows");

      const second = await prepare(path, content, { ...options, retryDelays: [100, 500, 2000] });
      const [previous] = await second.findPreviousUploads();
      assert.equal(previous.uploadUrl, first.url);
      second.resumeFromPreviousUpload(previous);
      const starts = [];
      second.options.onBeforeRequest = (request) => {
        if (request.getMethod() === "PATCH") starts.push(Number(request.getHeader("Upload-Offset")));
      };
      second.start();
      await stored(path, content, await second.done);
      assert.equal(starts[0], left.at, "it sent again what was there");
    });
  }

  it("go on by themselves when the program was killed and is back", async () => {
    const content = bytes(seed, 6 * MiB + 1);
    const path = "/killed";
    const upload = await prepare(path, content, { retryDelays: Array(240).fill(250) }); // longer than a dead program holds its lock
    let back;
    upload.options.onChunkComplete = (_, accepted) => {
      if (accepted < 2 * MiB || back) return;
      back = world.kill().then(() => world.run());
    };
    upload.start();
    const answer = await upload.done;
    assert.ok(back, "the program was not killed");
    await back;
    await stored(path, content, answer);
  });

  it("are gone when the client ends them", async () => {
    const upload = await prepare("/ended", bytes(seed, 3 * MiB));
    upload.options.onChunkComplete = () => upload.abort().then(() => upload.options.onError());
    upload.start();
    await assert.rejects(upload.done);
    assert.equal((await offset(upload.url)).status, 200);
    await upload.abort(true);
    assert.ok([404, 410].includes((await offset(upload.url)).status));
  });

  it("are refused without a token that may write", async () => {
    const upload = await prepare("/refused", bytes(seed, 1000), { headers: { authorization: `Bearer ${await world.token("fs/read")}` } });
    upload.start();
    await assert.rejects(upload.done, (error) => error.originalResponse?.getStatus() === 403);
  });
});

function* pieces(content) {
  for (let at = 0; at < content.length; at += 100_000) yield content.subarray(at, at + 100_000);
}

/** How many uploads the client has open side by side. */
const side = 4;

describe(`parallel uploads of SEED=${seed}`, () => {
  for (const [name, size] of [["fewer bytes than pieces", 3], ["small", 1000], ["large", 11 * MiB + 321]]) {
    it(`become one file: ${name}`, async () => {
      const content = bytes(seed, size);
      const path = `/parallel/${name}`;
      const upload = await prepare(path, content, { parallelUploads: Math.min(side, size) });
      const concats = [];
      upload.options.onBeforeRequest = (request) => {
        if (request.getMethod() === "POST") concats.push(request.getHeader("Upload-Concat").split(";")[0]);
      };
      upload.start();
      await stored(path, content, await upload.done);
      assert.deepEqual(concats.sort(), ["final", ...Array(Math.min(side, size)).fill("partial")]);
    });
  }

  it("show nothing before they are joined", async () => {
    const content = bytes(seed, 8 * MiB);
    const path = "/parallel/unseen";
    const upload = await prepare(path, content, { parallelUploads: side });
    let looked = 0;
    upload.options.onBeforeRequest = async (request) => {
      if (!request.getHeader("Upload-Concat")?.startsWith("final;")) return;
      looked++;
      await assert.rejects(world.read(path), /404/, "a piece shows as the file");
    };
    upload.start();
    await stored(path, content, await upload.done);
    assert.equal(looked, 1);
  });

  it("go on by themselves when the program was killed and is back", async () => {
    const content = bytes(seed, 12 * MiB + 5);
    const path = "/parallel/killed";
    const upload = await prepare(path, content, { parallelUploads: side, retryDelays: Array(240).fill(250) });
    let back;
    upload.options.onProgress = (sent) => {
      if (sent < 4 * MiB || back) return;
      back = world.kill().then(() => world.run());
    };
    upload.start();
    const answer = await upload.done;
    assert.ok(back, "the program was not killed");
    await back;
    await stored(path, content, answer);
  });

  it("are joined once, also when the program is killed while it joins", async () => {
    const content = bytes(seed, 24 * MiB + 5);
    const path = "/parallel/killed while joining";
    const upload = await prepare(path, content, { parallelUploads: side });
    let final;
    upload.options.onBeforeRequest = (request) => {
      if (request.getHeader("Upload-Concat")?.startsWith("final;")) {
        final = { concat: request.getHeader("Upload-Concat"), metadata: request.getHeader("Upload-Metadata") };
        setTimeout(() => world.kill(), 20);
      }
    };
    upload.start();
    await upload.done.catch(() => {}); // it may have been fast enough
    await world.run();
    for (let i = 0; i < 2; i++) {
      const answer = await fetch(`${world.url}/api/fs/upload`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${await world.token("fs/write")}`,
          "tus-resumable": "1.0.0",
          "upload-concat": final.concat,
          "upload-metadata": final.metadata,
        },
      });
      assert.equal(answer.status, 201, await answer.text());
    }
    await stored(path, content);
  });
});
