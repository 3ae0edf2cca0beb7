// @helia/verified-fetch reads from the program as from any trustless gateway: whole files, parts, folders.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, it } from "node:test";
import { fallbackRouter } from "@helia/fallback-router";
import { withHTTP } from "@helia/http";
import { createVerifiedFetch } from "@helia/verified-fetch";
import { createHeliaLight } from "helia";
import { exporter } from "ipfs-unixfs-exporter";
import { bytes, World } from "../world.mjs";
import { blocksOf, call, filesOf, importCAR, theirs, tree } from "./world.js";

const seed = process.env.SEED ?? randomBytes(8).toString("hex");

let world;
const started = [];
before(async () => (world = await World.start()));
after(async () => {
  for (const one of started) await one.stop();
  await world?.stop();
});

/** Fetches from the program alone, as nobody or with tokens of the owner. */
async function verifiedFetch(authorized) {
  const gateways = fallbackRouter({ gateways: [world.url] });
  const light = createHeliaLight();
  light.addRouter({ name: "castalia", findProviders: (cid, options) => gateways.findProviders(cid, options) }); // Helia waits for ever for a router that is no fallback
  const helia = await withHTTP(light, {
    delegatedRouters: [],
    recursiveGateways: [],
    allowInsecure: true,
    allowLocal: true,
    transformRequestInit: async (init) => (authorized ? { ...init, headers: { ...init.headers, authorization: `Bearer ${await world.token("fs/read")}` } } : init),
  }).start();
  const verified = await createVerifiedFetch(helia);
  started.push(verified, helia);
  return (resource, options) => verified(resource, { allowInsecure: true, allowLocal: true, signal: AbortSignal.timeout(20_000), ...options });
}

const body = async (response) => Buffer.from(await response.arrayBuffer());

async function put(path, content) {
  return (await call(world, "PUT", `/api/fs/content?path=${encodeURIComponent(path)}`, content)).json();
}

it(`reads files and parts of them: SEED=${seed}`, async () => {
  const content = bytes(seed, (5 << 20) + 99);
  const file = await put("/public.bin", content);
  await call(world, "PATCH", `/api/fs/files/${file.id}/public?public=true`);
  const anybody = await verifiedFetch(false);
  const whole = await anybody(`ipfs://${file.cid}`);
  assert.equal(whole.status, 200);
  assert.ok((await body(whole)).equals(content));
  for (const [from, to] of [[0, 0], [1 << 20, (2 << 20) - 1], [(1 << 20) - 1, (3 << 20) + 5], [content.length - 7, content.length - 1]]) {
    const part = await anybody(`ipfs://${file.cid}`, { headers: { range: `bytes=${from}-${to}` } });
    assert.equal(part.status, 206, `${from}-${to}`);
    assert.ok((await body(part)).equals(content.subarray(from, to + 1)), `${from}-${to}`);
    // What proves the part is less than all.
    const car = await body(await fetch(`${world.url}/ipfs/${file.cid}?format=car&entity-bytes=${from}:${to}`));
    assert.ok(car.length < content.length);
    const { root, blocks } = await blocksOf(car);
    const entry = await exporter(root, blocks);
    const parts = [];
    for await (const chunk of entry.content({ offset: from, length: to - from + 1 })) parts.push(chunk);
    assert.ok(Buffer.concat(parts).equals(content.subarray(from, to + 1)), `the archive of ${from}-${to}`);
  }
});

it(`reads with a token what nobody else does: SEED=${seed}`, async () => {
  const content = bytes(`${seed}/private`, (2 << 20) + 5);
  const file = await put("/private.bin", content);
  const owner = await verifiedFetch(true);
  assert.ok((await body(await owner(`ipfs://${file.cid}`))).equals(content));
  const anybody = await verifiedFetch(false);
  const refused = await anybody(`ipfs://${file.cid}`, { signal: AbortSignal.timeout(2_000) }).then((response) => response.status, () => "failed");
  assert.ok(refused === "failed" || refused >= 400, `${refused}`);
});

it(`reads folders, sharded ones too: SEED=${seed}`, async () => {
  const files = tree(seed);
  const { root, car } = await theirs(files);
  await importCAR(world, "/tree.car", car, "blocks");
  const owner = await verifiedFetch(true);
  for (const path of ["deep/er/leaf.bin", "deep/large.bin", "many/file-00001", "many/文件-05992", "mit Blank & Ümlaut.txt"]) {
    const response = await owner(`ipfs://${root}/${path.split("/").map(encodeURIComponent).join("/")}`);
    assert.equal(response.status, 200, path);
    assert.ok((await body(response)).equals(files.get(path)), path);
  }
  const none = await owner(`ipfs://${root}/many/none`);
  assert.equal(none.status, 404);
  // The folder as an entity has its shards and no file.
  const entity = await call(world, "GET", `/ipfs/${root}/many?format=car&dag-scope=entity`);
  const folder = await blocksOf(await body(entity));
  let names = 0;
  for await (const entry of (await exporter(folder.root, folder.blocks)).entries()) names += files.has(`many/${entry.name}`) ? 1 : 0;
  assert.equal(names, 6000);
  // All of it is all of it.
  const all = await filesOf(await body(await call(world, "GET", `/ipfs/${root}?format=car`)));
  assert.equal(all.files.size, files.size);
});
