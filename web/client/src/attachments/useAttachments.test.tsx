// @vitest-environment jsdom
import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RequestError } from "../core/errors";
import { overrides, page } from "../react/kit";
import { json } from "../testkit/oracle";
import type { FileStore, UploadOptions } from "../files/upload";
import { useAttachments, type UseAttachmentsOptions } from "./useAttachments";

const store = vi.hoisted(() => ({
  uploadFile: vi.fn(),
  forgetUpload: vi.fn(async () => undefined),
}));
vi.mock("../files/upload", () => store);
vi.mock("../core/line", () => import("../testkit/socket"));
beforeEach(() => localStorage.clear());
afterEach(() => {
  cleanup();
  vi.clearAllMocks();
  vi.unstubAllGlobals();
});

const file = (name: string) => new File(["x"], name, { type: "text/plain", lastModified: 1 });
const stored = (name: string) => ({ name, mimeType: "text/plain", size: 1, cid: `cid-${name}` });

function opened(more: Partial<UseAttachmentsOptions> = {}) {
  const { oracle, Page } = page();
  const deposits: unknown[] = [];
  oracle.on("POST", /^\/delegation$/, ({ body }) => {
    deposits.push(body);
    return json({ ok: true });
  });
  const options = { oracleDid: "did:o", overrides, fileToken: async () => "fs", ...more };
  const hook = renderHook(() => useAttachments(options), { wrapper: Page });
  return { deposits, get: () => hook.result.current, unmount: hook.unmount };
}

test("a file is stored with progress, and taken as content", async () => {
  let finish: (file: unknown) => void = () => undefined;
  let tell: UploadOptions["onProgress"];
  store.uploadFile.mockImplementation((_store, path, _file, options: UploadOptions) => {
    expect(path).toBe("/Attachments/a.txt");
    tell = options.onProgress;
    return new Promise((resolve) => (finish = resolve));
  });
  const { get } = opened();
  act(() => get().upload([file("a.txt")]));
  act(() => tell?.(0.5));
  expect(get().list).toMatchObject([{ filename: "a.txt", progress: 0.5 }]);
  expect(get().isStoring).toBe(true);
  await act(async () => finish(stored("a.txt")));
  expect(get().isStoring).toBe(false);
  let taken: unknown;
  await act(async () => (taken = await get().take()));
  expect(taken).toEqual([{ filename: "a.txt", mimetype: "text/plain", size: 1, cid: "cid-a.txt" }]);
  expect(get().list).toEqual([]);
});

test("an upload that is taken away, or left, is given up", async () => {
  const signals: AbortSignal[] = [];
  store.uploadFile.mockImplementation((_store, _path, _file, { signal }: UploadOptions) => {
    signals.push(signal as AbortSignal);
    return new Promise((_, reject) =>
      signal?.addEventListener("abort", () => reject(new Error("stopped"))),
    );
  });
  const { get, unmount } = opened();
  act(() => get().upload([file("a.txt"), file("b.txt")]));
  await act(async () => get().remove(get().list[0]?.key ?? ""));
  expect(get().list.map((a) => a.filename)).toEqual(["b.txt"]);
  expect(get().error).toBeUndefined();
  expect(signals.map((s) => s.aborted)).toEqual([true, false]);
  unmount();
  expect(signals.map((s) => s.aborted)).toEqual([true, true]);
  expect(store.forgetUpload).toHaveBeenCalledTimes(2);
});

test("a refusal says which file it was", async () => {
  store.uploadFile.mockRejectedValue(new RequestError(413, "it is too large"));
  const { get } = opened();
  act(() => get().upload([file("a.txt")]));
  await waitFor(() => expect(get().error?.message).toBe("a.txt: it is too large"));
  expect(get().list).toEqual([]);
});

test("the oracle is let read what is sent, and what was sent before", async () => {
  const grant = vi.fn(async (cids: string[]) => `grant ${cids.join(" ")}`);
  const { get, deposits } = opened({ grant });
  act(() => get().add(stored("a")));
  await act(() => get().take());
  act(() => get().add(stored("b")));
  await act(() => get().take());
  act(() => get().add(stored("a")));
  await act(() => get().take());
  expect(deposits).toEqual([{ raw: "grant cid-a" }, { raw: "grant cid-a cid-b" }]);
});

test("a grant that is refused keeps the files", async () => {
  const grant = vi.fn<() => Promise<string>>(() => Promise.reject(new Error("no")));
  const { get } = opened({ grant });
  act(() => get().add(stored("a")));
  await act(() => expect(get().take()).rejects.toThrow("no"));
  expect(get().list).toHaveLength(1);
  expect(get().error?.message).toBe("no");
  grant.mockResolvedValue("granted");
  await act(() => get().take());
  expect(get().error).toBeUndefined();
});

/** Something that a test ends. */
function later<T>() {
  let end: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => (end = resolve));
  return { promise, end };
}

test("what is taken is taken once, however often it is asked for while a grant is", async () => {
  const asked = later<string>();
  const { get } = opened({ grant: () => asked.promise });
  act(() => get().add(stored("a")));
  let first: unknown, second: unknown;
  // In one go: nothing was drawn in between.
  act(() => {
    first = get().take();
    second = get().take();
  });
  expect(get().list).toEqual([]);
  await act(async () => asked.end("granted"));
  expect(await first).toMatchObject([{ cid: "cid-a" }]);
  expect(await second).toEqual([]);
});

test("a file that is stored while a grant is asked for stays for the next message", async () => {
  const upload = later<unknown>();
  const asked = later<string>();
  store.uploadFile.mockReturnValue(upload.promise);
  const { get } = opened({ grant: () => asked.promise });
  act(() => get().add(stored("a")));
  let first: unknown;
  act(() => void (first = get().take()));
  act(() => get().upload([file("b.txt")]));
  await act(async () => upload.end(stored("b.txt")));
  await act(async () => asked.end("granted"));
  expect(await first).toMatchObject([{ cid: "cid-a" }]);
  expect(get().list).toMatchObject([{ filename: "b.txt", cid: "cid-b.txt" }]);
});

test("what is on its way when it is taken is waited for, also by a page that has left", async () => {
  const upload = later<unknown>();
  let signal: AbortSignal | undefined;
  store.uploadFile.mockImplementation((_store, _path, _file, options: UploadOptions) => {
    signal = options.signal;
    return upload.promise;
  });
  const grant = vi.fn(async () => "granted");
  const { get, unmount } = opened({ grant });
  act(() => get().add(stored("a")));
  act(() => get().upload([file("b.txt")]));
  let taken: unknown;
  act(() => void (taken = get().take()));
  unmount();
  expect(signal?.aborted).toBe(false);
  expect(grant).not.toHaveBeenCalled();
  upload.end(stored("b.txt"));
  expect(await taken).toMatchObject([{ cid: "cid-a" }, { cid: "cid-b.txt" }]);
  expect(grant).toHaveBeenCalledWith(["cid-a", "cid-b.txt"]);
});

test("what is taken with a file that cannot be stored comes back without it", async () => {
  const upload = later<unknown>();
  store.uploadFile.mockImplementation(async () => {
    await upload.promise;
    throw new RequestError(413, "it is too large");
  });
  const { get } = opened();
  act(() => get().add(stored("a")));
  act(() => get().upload([file("b.txt")]));
  let taken: Promise<unknown> | undefined;
  act(() => void (taken = get().take()));
  const failed = expect(taken).rejects.toThrow("b.txt: it is too large");
  await act(async () => upload.end(undefined));
  await failed;
  expect(get().list).toMatchObject([{ filename: "a" }]);
  expect(get().error?.message).toBe("b.txt: it is too large");
});

test("files of one name are stored one after the other, and none in the place of another", async () => {
  const there = new Set<string>();
  const first = later<undefined>();
  store.uploadFile.mockImplementation(
    async (_store, path: string, picture: File, { overwrite }) => {
      if (overwrite === false && there.has(path)) throw new RequestError(409, "it is there");
      if (there.size === 0) await first.promise;
      there.add(path);
      return { ...stored(path), cid: `cid ${picture.size}` };
    },
  );
  const { get } = opened();
  const pictures = ["x", "xx"].map(
    (content) => new File([content], "image.png", { lastModified: 5 }),
  );
  act(() => get().upload(pictures));
  expect(store.uploadFile).toHaveBeenCalledOnce();
  await act(async () => first.end(undefined));
  await waitFor(() => expect(get().isStoring).toBe(false));
  expect([...there]).toEqual(["/Attachments/image.png", "/Attachments/image 5-2.png"]);
  expect(get().list).toMatchObject([
    { filename: "image.png", cid: "cid 1" },
    { filename: "image.png", cid: "cid 2" },
  ]);
});

test("a file that was taken away can be attached again at once", async () => {
  const ends: ((stored: unknown) => void)[] = [];
  store.uploadFile.mockImplementation(() => new Promise((resolve) => ends.push(resolve)));
  const { get } = opened();
  act(() => get().upload([file("a.txt")]));
  act(() => get().remove(get().list[0]?.key ?? ""));
  act(() => get().upload([file("a.txt")]));
  expect(get().list).toMatchObject([{ filename: "a.txt", progress: 0 }]);
  // What was given up may still come to an end; it is not this one's.
  await act(async () => ends[0]?.(stored("old")));
  expect(get().isStoring).toBe(true);
  await waitFor(() => expect(ends).toHaveLength(2));
  await act(async () => ends[1]?.(stored("a.txt")));
  expect(get().list).toMatchObject([{ filename: "a.txt", cid: "cid-a.txt" }]);
});

test("files that are too many are named", () => {
  store.uploadFile.mockReturnValue(new Promise(() => undefined));
  const { get } = opened();
  act(() => get().upload(Array.from({ length: 12 }, (_, i) => file(`${i}.txt`))));
  expect(get().list).toHaveLength(10);
  expect(get().error?.message).toBe("10.txt, 11.txt: a message takes 10 files");
  act(() => get().add(stored("a")));
  expect(get().list).toHaveLength(10);
  expect(get().error?.message).toBe("a: a message takes 10 files");
});

test("files of one content are given back as the files that they were", async () => {
  const { get } = opened();
  const alike = ["a.txt", "b.txt"].map((filename) => ({ filename, mimetype: "t", cid: "c" }));
  act(() => get().giveBack(alike));
  expect(new Set(get().list.map((a) => a.key)).size).toBe(2);
});

test("before the oracle is found nothing is stored, and no token is made for it", async () => {
  const fileToken = vi.fn(async () => "fs");
  store.uploadFile.mockImplementation((files: FileStore) => files.token());
  const { get } = opened({ overrides: {}, fileToken, grant: async () => "granted" });
  act(() => get().upload([file("a.txt")]));
  await waitFor(() => expect(get().error?.message).toMatch("a.txt: The oracle is not found yet"));
  expect(fileToken).not.toHaveBeenCalled();
  act(() => get().add(stored("b")));
  await act(() => expect(get().take()).rejects.toThrow("not found yet"));
  expect(get().list).toMatchObject([{ cid: "cid-b" }]);
});
