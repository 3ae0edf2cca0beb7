import { concat, readVarint, utf8, varint } from "./bytes";

/** A link to a block, by the bytes of its CID. */
export class Link {
  constructor(readonly bytes: Uint8Array) {}
}

export type Value =
  null | boolean | number | string | Uint8Array | Link | Value[] | { [key: string]: Value };

function head(major: number, n: number): Uint8Array {
  const type = major << 5;
  if (n < 24) return Uint8Array.of(type | n);
  if (n < 0x100) return Uint8Array.of(type | 24, n);
  if (n < 0x10000) return Uint8Array.of(type | 25, n >> 8, n & 0xff);
  const bytes = new Uint8Array(n < 0x100000000 ? 5 : 9);
  const view = new DataView(bytes.buffer);
  if (n < 0x100000000) {
    bytes[0] = type | 26;
    view.setUint32(1, n);
  } else {
    bytes[0] = type | 27;
    view.setBigUint64(1, BigInt(n));
  }
  return bytes;
}

/** Canonical dag-cbor of the values that tokens hold. */
export function encode(value: Value): Uint8Array {
  if (value === null) return Uint8Array.of(0xf6);
  if (typeof value === "boolean") return Uint8Array.of(value ? 0xf5 : 0xf4);
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) throw new Error("only whole numbers are signed here");
    return value >= 0 ? head(0, value) : head(1, -1 - value);
  }
  if (typeof value === "string") {
    const bytes = utf8(value);
    return concat(head(3, bytes.length), bytes);
  }
  if (value instanceof Uint8Array) return concat(head(2, value.length), value);
  if (value instanceof Link) {
    const bytes = concat(Uint8Array.of(0), value.bytes);
    return concat(Uint8Array.of(0xd8, 42), head(2, bytes.length), bytes);
  }
  if (Array.isArray(value)) return concat(head(4, value.length), ...value.map(encode));
  const entries = Object.entries(value).map(([key, item]) => ({ key: utf8(key), text: key, item }));
  entries.sort((a, b) => a.key.length - b.key.length || (a.text < b.text ? -1 : 1));
  return concat(
    head(5, entries.length),
    ...entries.flatMap((e) => [head(3, e.key.length), e.key, encode(e.item)]),
  );
}

/** A CAR file of the given blocks. */
export function car(
  root: Uint8Array,
  blocks: { cid: Uint8Array; bytes: Uint8Array }[],
): Uint8Array {
  const header = encode({ roots: [new Link(root)], version: 1 });
  return concat(
    varint(header.length),
    header,
    ...blocks.flatMap((b) => [varint(b.cid.length + b.bytes.length), b.cid, b.bytes]),
  );
}

const maxDepth = 32;

/** Reads dag-cbor: the kinds that tokens hold, and nothing else. */
export function decode(bytes: Uint8Array): Value {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  function take(n: number): Uint8Array {
    if (n > bytes.length - at) throw new Error("the block ended too early");
    at += n;
    return bytes.subarray(at - n, at);
  }
  function argument(info: number): number {
    if (info < 24) return info;
    const size = [1, 2, 4, 8][info - 24];
    if (!size) throw new Error("an unknown length");
    take(size);
    if (size === 1) return view.getUint8(at - 1);
    if (size === 2) return view.getUint16(at - 2);
    if (size === 4) return view.getUint32(at - 4);
    return Number(view.getBigUint64(at - 8));
  }
  function item(depth: number): Value {
    if (depth > maxDepth) throw new Error("the block is nested too deep");
    const [first = 0] = take(1);
    if (first === 0xf4 || first === 0xf5) return first === 0xf5;
    if (first === 0xf6) return null;
    const n = argument(first & 31);
    switch (first >> 5) {
      case 0:
        return n;
      case 1:
        return -1 - n;
      case 2:
        return take(n);
      case 3:
        return new TextDecoder("utf-8", { fatal: true }).decode(take(n));
      case 4:
        if (n > bytes.length) break;
        return Array.from({ length: n }, () => item(depth + 1));
      case 5: {
        if (n > bytes.length) break;
        const out: [string, Value][] = [];
        for (let i = 0; i < n; i++) out.push([String(item(depth + 1)), item(depth + 1)]);
        return Object.fromEntries(out);
      }
      case 6: {
        const inner = item(depth + 1);
        if (n === 42 && inner instanceof Uint8Array) return new Link(inner.subarray(1));
      }
    }
    throw new Error("the block holds something unknown");
  }
  const value = item(0);
  if (at !== bytes.length) throw new Error("something follows the block");
  return value;
}

export interface CarBlock {
  cid: Uint8Array;
  bytes: Uint8Array;
}

/** The first root and the blocks of a CAR file. */
export function readCar(bytes: Uint8Array): { root: Uint8Array; blocks: CarBlock[] } {
  const [headLength, headAt] = readVarint(bytes, 0);
  let at = headAt + headLength;
  const header = decode(bytes.subarray(headAt, at)) as { roots?: Value[] };
  const root = header.roots?.[0];
  if (!(root instanceof Link)) throw new Error("it has no root");
  const blocks: CarBlock[] = [];
  while (at < bytes.length) {
    const [length, from] = readVarint(bytes, at);
    if (length < 36 || from + length > bytes.length) throw new Error("a block ended too early");
    // CIDv1 with a 32-byte hash: the only form that tokens have.
    blocks.push({
      cid: bytes.subarray(from, from + 36),
      bytes: bytes.subarray(from + 36, from + length),
    });
    at = from + length;
  }
  return { root: root.bytes, blocks };
}
