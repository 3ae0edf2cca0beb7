// @vitest-environment jsdom
import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RequestError } from "../core/errors";
import { overrides, page } from "../react/kit";
import { json } from "../testkit/oracle";
import type { UploadOptions } from "../files/upload";
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
