import { afterEach, expect, test, vi } from "vitest";
import type { Files, TreeNode } from "./api";
import { Thumbnails } from "./thumbnails";

afterEach(() => vi.unstubAllGlobals());

const picture = (n: number, mimeType = "image/png"): TreeNode => ({
  path: `/${n}`,
  name: `${n}`,
  type: "file",
  id: `id${n}`,
  cid: `cid${n}`,
  size: 10,
  mimeType,
});

/** A store whose answers wait until they are let go. */
function store() {
  const asked: string[] = [];
  const waiting: (() => void)[] = [];
  vi.stubGlobal("URL", {
    createObjectURL: (b: Blob) => `blob:${b.size}`,
    revokeObjectURL: vi.fn(),
  });
  const thumbnail = (id: string) => {
    asked.push(id);
    return new Promise<Blob>((done) => waiting.push(() => done(new Blob(["x"]))));
  };
  const letGo = async () => {
    while (waiting.length > 0) {
      waiting.shift()?.();
      await new Promise((done) => setTimeout(done));
    }
  };
  return { asked, letGo, thumbnails: new Thumbnails({ thumbnail } as unknown as Files) };
}

test("three are asked for at once, then the newest first, and each content once", async () => {
  const { asked, letGo, thumbnails } = store();
  const made = [1, 2, 3, 4, 5, 5].map((n) => thumbnails.of(picture(n)));
  expect(asked).toEqual(["id1", "id2", "id3"]);
  await letGo();
  expect(asked).toEqual(["id1", "id2", "id3", "id5", "id4"]);
  expect(await Promise.all(made)).toEqual(Array(6).fill("blob:1"));
});

test("what waits too long is dropped, and asked for when it is in sight again", async () => {
  const { asked, letGo, thumbnails } = store();
  const first = Array.from({ length: 64 }, (_, n) => thumbnails.of(picture(n)));
  expect(await first[3]).toBeUndefined();
  await letGo();
  expect(asked).not.toContain("id3");
  void thumbnails.of(picture(3));
  expect(asked).toContain("id3");
});

test("what is no picture is not asked for, and one that fails has none", async () => {
  const { asked, thumbnails } = store();
  expect(thumbnails.of(picture(1, "image/svg+xml"))).toBeUndefined();
  expect(thumbnails.of({ ...picture(2), size: 1e9 })).toBeUndefined();
  expect(asked).toEqual([]);
  const failing = { thumbnail: () => Promise.reject(new Error("damaged")) } as unknown as Files;
  expect(await new Thumbnails(failing).of(picture(1))).toBeUndefined();
});

test("so many are kept, those looked at last longest, and all are let go at the end", async () => {
  const { letGo, thumbnails } = store();
  const revoked = vi.mocked(URL.revokeObjectURL);
  for (let n = 0; n < 400; n++) {
    void thumbnails.of(picture(n));
    await letGo();
  }
  void thumbnails.of(picture(0));
  void thumbnails.of(picture(400));
  await letGo();
  expect(revoked).toHaveBeenCalledTimes(1);
  const first = thumbnails.of(picture(0));
  await letGo();
  expect(await first).toBe("blob:1");
  expect(revoked).toHaveBeenCalledTimes(1);
  thumbnails.clear();
  await letGo();
  expect(revoked).toHaveBeenCalledTimes(401);
});
