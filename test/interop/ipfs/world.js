// Trees of files as the IPFS project's own builder makes them, and the program as a store of them.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { CarReader, CarWriter } from "@ipld/car";
import { MemoryBlockstore } from "blockstore-core/memory";
import { exporter } from "ipfs-unixfs-exporter";
import { importer } from "ipfs-unixfs-importer";
import { bytes } from "../world.mjs";

/** A tree: files of several sizes, names of several alphabets, and a folder that is large enough for shards. */
export function tree(seed, many = 6000) {
  const files = new Map([
    ["empty.txt", Buffer.alloc(0)],
    ["mit Blank & Ümlaut.txt", bytes(`${seed}/small`, 1234)],
    ["deep/er/leaf.bin", bytes(`${seed}/leaf`, 1 << 20)],
    ["deep/large.bin", bytes(`${seed}/large`, (3 << 20) + 17)],
  ]);
  for (let i = 0; i < many; i++) files.set(`many/${i % 7 ? "file" : "文件"}-${String(i).padStart(5, "0")}`, Buffer.from(`${seed} ${i % 50}`));
  return files;
}

/** The archive of a tree, and its root's CID, by their builder. */
export async function theirs(files) {
  const store = new MemoryBlockstore();
  let root;
  const source = [...files].map(([path, content]) => ({ path: `root/${path}`, content }));
  for await (const entry of importer(source, store, { profile: "unixfs-v1-2025" })) root = entry;
  return { root: root.cid.toString(), kind: root.unixfs.type, car: await archive(root.cid, store) };
}

async function archive(root, store) {
  const { writer, out } = CarWriter.create([root]);
  const written = (async () => {
    for await (const { cid, bytes } of store.getAll()) {
      const parts = [];
      for await (const part of bytes) parts.push(part);
      await writer.put({ cid, bytes: Buffer.concat(parts) });
    }
    await writer.close();
  })();
  const parts = [];
  for await (const part of out) parts.push(part);
  await written;
  return Buffer.concat(parts);
}

/** The files of an archive by their reader, which checks every block. */
export async function filesOf(car) {
  const { root, blocks } = await blocksOf(car);
  const found = new Map();
  const walk = async (entry, path) => {
    if (entry.type === "directory") {
      for await (const below of entry.entries()) await walk(await exporter(below.cid, blocks), path ? `${path}/${below.name}` : below.name);
      return;
    }
    const parts = [];
    for await (const part of entry.content()) parts.push(part);
    found.set(path, Buffer.concat(parts));
  };
  await walk(await exporter(root, blocks), "");
  return { root: root.toString(), files: found };
}

/** The blocks of an archive, each checked against its CID, and its root. */
export async function blocksOf(car) {
  const reader = await CarReader.fromBytes(car);
  const [root] = await reader.getRoots();
  const blocks = {
    async *get(cid) {
      const block = await reader.get(cid);
      if (!block) throw new Error(`the archive lacks ${cid}`);
      assert.deepEqual(createHash("sha256").update(block.bytes).digest(), Buffer.from(cid.multihash.digest), `${cid} is other bytes`);
      yield block.bytes;
    },
  };
  return { root, blocks };
}

/** A folder on the disk, and what is in one. */
export function write(folder, files) {
  for (const [path, content] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

export function read(folder) {
  const files = new Map();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isFile()) files.set(relative(folder, path), readFileSync(path));
  }
  return files;
}

/** What differs between two trees, shortly. */
export function differences(got, want) {
  const names = new Set([...got.keys(), ...want.keys()]);
  return [...names].filter((name) => !got.get(name) || !want.get(name) || !got.get(name).equals(want.get(name))).slice(0, 10);
}

/** Calls a route of the file store as the owner; another status than a good one fails. */
export async function call(world, method, target, body) {
  const response = await fetch(`${world.url}${target}`, { method, body, headers: { authorization: `Bearer ${await world.token()}` } });
  if (!response.ok) throw new Error(`${method} ${target}: ${response.status} ${await response.text()}`);
  return response;
}

export async function importCAR(world, path, car, as = "files") {
  return (await call(world, "POST", `/api/fs/import?as=${as}&path=${encodeURIComponent(path)}`, car)).json();
}

export async function exportCAR(world, path) {
  return Buffer.from(await (await call(world, "GET", `/api/fs/export?path=${encodeURIComponent(path)}`)).arrayBuffer());
}
