import { concat, utf8, varint } from "./bytes";

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
