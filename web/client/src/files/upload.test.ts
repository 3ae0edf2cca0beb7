import { beforeEach, expect, test, vi } from "vitest";
import { forgetUpload, uploadFile, type FileStore, type IStoredFile, type Send } from "./upload";

const files: FileStore = { baseUrl: "", owner: "did:key:me", token: async () => "token" };
const content = "0123456789";
const file = () => new File([content], "a.txt", { lastModified: 1 });

/** A server that keeps what it is sent and fails when it is told to. */
function server() {
  const state = { got: "", created: 0, faults: [] as ("cut" | number)[], exists: false };
  const send: Send = async (request) => {
    const answer = (status: number, headers: Record<string, string> = {}) => ({
      status,
      header: (name: string) => headers[name] ?? null,
      message: () => `answered ${status}`,
    });
    if (request.method === "POST") {
      state.created++;
      state.exists = true;
      state.got = "";
      return answer(201, { Location: "http://elsewhere:1/api/fs/upload/u1" });
    }
    if (!state.exists) return answer(404);
    if (request.method === "HEAD") return answer(200, { "Upload-Offset": `${state.got.length}` });
    const fault = state.faults.shift();
    if (typeof fault === "number") return answer(fault);
    if (Number(request.headers["Upload-Offset"]) !== state.got.length) return answer(409);
    const body = (await request.body?.text()) ?? "";
    if (fault === "cut") {
      state.got += body.slice(0, 1);
      throw new Error("The connection broke.");
    }
    state.got += body;
    request.onSent?.(body.length);
    return answer(state.got.length === content.length ? 200 : 204, {
      "Upload-Offset": `${state.got.length}`,
    });
  };
  return { state, send };
}

const quick = {
  wait: () => Promise.resolve(),
  chunk: 4,
  stat: async (path: string) => ({ path }) as IStoredFile,
};

const kept = new Map<string, string>();
vi.stubGlobal("localStorage", {
  getItem: (key: string) => kept.get(key) ?? null,
  setItem: (key: string, value: string) => kept.set(key, value),
  removeItem: (key: string) => kept.delete(key),
});
beforeEach(() => kept.clear());

test("a file that is there gets a new version, unless that is not wanted", async () => {
  for (const [options, said] of [
    [{}, "true"],
    [{ overwrite: false }, "false"],
  ] as const) {
    const { send } = server();
    let meta = "";
    const listening: Send = (request) => {
      meta ||= request.headers["Upload-Metadata"] ?? "";
      return send(request);
    };
    await uploadFile(files, "/a.txt", file(), { ...quick, ...options, send: listening });
    expect(meta).toContain(`overwrite ${btoa(said)}`);
  }
});

test("a file is stored in parts, with progress", async () => {
  const { state, send } = server();
  const shares: number[] = [];
  await uploadFile(files, "/a.txt", file(), { ...quick, send, onProgress: (s) => shares.push(s) });
  expect(state.got).toBe(content);
  expect(shares.at(-1)).toBe(1);
  expect([...shares].sort((a, b) => a - b)).toEqual(shares);
  expect(kept.size).toBe(0);
});

test("a broken line goes on where the server stands", async () => {
  const { state, send } = server();
  state.faults = ["cut", 423, 503, "cut"];
  await uploadFile(files, "/a.txt", file(), { ...quick, send });
  expect(state.got).toBe(content);
  expect(state.created).toBe(1);
});

test("an upload that was broken off goes on after a reload", async () => {
  const { state, send } = server();
  const stop = new AbortController();
  const cutting: Send = (request) => {
    if (request.method === "PATCH" && state.got.length === 4) stop.abort();
    return stop.signal.aborted ? Promise.reject(new Error("gone")) : send(request);
  };
  await expect(
    uploadFile(files, "/a.txt", file(), { ...quick, send: cutting, signal: stop.signal }),
  ).rejects.toThrow();
  expect(state.got).toBe("0123");
  await uploadFile(files, "/a.txt", file(), { ...quick, send });
  expect(state.got).toBe(content);
  expect(state.created).toBe(1);
});

test("a remembered upload that the server forgot begins anew", async () => {
  const { state, send } = server();
  localStorage.setItem("castalia-upload did:key:me /a.txt 10 1", "/api/fs/upload/old");
  await uploadFile(files, "/a.txt", file(), { ...quick, send });
  expect(state.created).toBe(1);
  expect(state.got).toBe(content);
});

test("an upload that is given up is forgotten here and at the server", async () => {
  const { send } = server();
  const spy = vi.fn(send);
  await forgetUpload(files, "/a.txt", file(), spy);
  expect(spy).not.toHaveBeenCalled();
  localStorage.setItem("castalia-upload did:key:me /a.txt 10 1", "/api/fs/upload/u1");
  await forgetUpload(files, "/a.txt", file(), spy);
  expect(spy.mock.calls[0]?.[0]).toMatchObject({ method: "DELETE", url: "/api/fs/upload/u1" });
  expect(kept.size).toBe(0);
});

test("a refusal is final", async () => {
  const { state, send } = server();
  state.faults = [413];
  const spy = vi.fn(send);
  await expect(uploadFile(files, "/a.txt", file(), { ...quick, send: spy })).rejects.toThrow("413");
  expect(spy).toHaveBeenCalledTimes(2);
});
