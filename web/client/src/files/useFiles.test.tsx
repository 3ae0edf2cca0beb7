// @vitest-environment jsdom
import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { overrides, page } from "../react/kit";
import { json } from "../testkit/oracle";
import { uploadFile } from "./upload";
import { useFiles } from "./useFiles";

vi.mock("../core/line", () => import("../testkit/socket"));
vi.mock("./upload", () => ({ uploadFile: vi.fn(), forgetUpload: vi.fn(async () => undefined) }));
beforeEach(() => localStorage.clear());
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.mocked(uploadFile).mockReset();
});

const node = (name: string) => ({ path: `/notes/${name}`, name, type: "file", id: `f-${name}` });

function folder(names: string[]) {
  const { oracle, Page } = page();
  const kept = [...names];
  oracle.on("GET", /^\/api\/fs\/tree/, ({ path }) =>
    path.includes("after")
      ? json({ nodes: kept.slice(1).map(node) })
      : json({ nodes: kept.slice(0, 1).map(node), ...(kept.length > 1 ? { next: "x y" } : {}) }),
  );
  const { result, unmount } = renderHook(
    () =>
      useFiles({ oracleDid: "did:o", overrides, folder: "notes/", fileToken: async () => "fs" }),
    { wrapper: Page },
  );
  return { oracle, kept, result, unmount };
}

test("shows a folder whole, reads, moves and removes, with a token for files", async () => {
  const { oracle, kept, result } = folder(["a.md", "b.md"]);
  await waitFor(() => expect(result.current.files.map((f) => f.name)).toEqual(["a.md", "b.md"]));
  expect(oracle.seen.map((r) => r.path)).toEqual([
    "/api/fs/tree?path=%2Fnotes",
    "/api/fs/tree?path=%2Fnotes&after=x%20y",
  ]);
  expect(oracle.seen[0]?.headers["Authorization"]).toBe("Bearer fs");
  oracle.on("GET", /^\/api\/fs\/content\?path=%2Fnotes%2Fa.md$/, () => new Response("Rain."));
  await expect((await result.current.read("/notes/a.md")).text()).resolves.toBe("Rain.");
  await expect(result.current.read("/notes/none.md")).rejects.toThrow("Cannot GET");
  oracle.on("POST", /^\/api\/fs\/move$/, ({ body }) => {
    expect(body).toEqual({ from: "/notes/b.md", to: "/notes/c.md" });
    kept[1] = "c.md";
    return json({});
  });
  await act(() => result.current.move("/notes/b.md", "/notes/c.md"));
  expect(result.current.files.map((f) => f.name)).toEqual(["a.md", "c.md"]);
  oracle.on("DELETE", /^\/api\/fs\/files\/f-a.md$/, () => {
    kept.shift();
    return new Response(null, { status: 204 });
  });
  await act(() => result.current.remove("f-a.md"));
  expect(result.current.files.map((f) => f.name)).toEqual(["c.md"]);
});

test("stores files into the folder, tells how far they are, and what failed", async () => {
  const { kept, result, unmount } = folder([]);
  await waitFor(() => expect(result.current.isLoading).toBe(false));
  const stored = { id: "f", path: "/notes/n.md", name: "n.md" };
  vi.mocked(uploadFile).mockImplementation(async (_store, path, file, options) => {
    if (file.name === "bad.md") throw new Error("The store is full");
    if (file.name === "slow.md") {
      options?.onProgress?.(0.5);
      await new Promise((_, fail) =>
        options?.signal?.addEventListener("abort", () => fail(new Error("stopped"))),
      );
    }
    kept.push("n.md");
    return { ...stored, path } as Awaited<ReturnType<typeof uploadFile>>;
  });
  const files = ["n.md", "bad.md"].map((name) => new File(["x"], name));
  await act(async () => {
    await expect(result.current.upload(files)).resolves.toEqual([stored]);
  });
  expect(result.current.files.map((f) => f.name)).toEqual(["n.md"]);
  expect(result.current.uploads).toMatchObject([
    { path: "/notes/bad.md", error: { message: "The store is full" } },
  ]);
  act(() => result.current.stop("/notes/bad.md"));
  let slow: Promise<unknown> | undefined;
  act(() => void (slow = result.current.upload([new File(["x"], "slow.md")])));
  await waitFor(() => expect(result.current.uploads).toMatchObject([{ progress: 0.5 }]));
  act(() => result.current.stop("/notes/slow.md"));
  await act(async () => expect(await slow).toEqual([]));
  expect(result.current.uploads).toEqual([]);
  unmount();
});

test("another file of a name is stored behind the first, and one that was stopped can be stored again", async () => {
  const { result } = folder([]);
  await waitFor(() => expect(result.current.isLoading).toBe(false));
  const ends: (() => void)[] = [];
  vi.mocked(uploadFile).mockImplementation(async (_store, path, file) => {
    await new Promise<void>((resolve) => ends.push(resolve));
    return { path, size: file.size } as Awaited<ReturnType<typeof uploadFile>>;
  });
  const [first, second] = ["x", "xx"].map((c) => new File([c], "a.md", { lastModified: 1 }));
  let made: Promise<unknown[]> | undefined;
  act(() => void (made = result.current.upload([first as File, second as File])));
  expect(ends).toHaveLength(1);
  // The same once more is the one that is on its way.
  let again: Promise<unknown[]> | undefined;
  act(() => void (again = result.current.upload([second as File])));
  await act(async () => ends[0]?.());
  await waitFor(() => expect(ends).toHaveLength(2));
  await act(async () => ends[1]?.());
  expect(await act(() => made)).toMatchObject([{ size: 1 }, { size: 2 }]);
  expect(await act(() => again)).toMatchObject([{ size: 2 }]);
  expect(result.current.uploads).toEqual([]);

  act(() => void result.current.upload([first as File]));
  act(() => result.current.stop("/notes/a.md"));
  act(() => void result.current.upload([first as File]));
  expect(ends).toHaveLength(4);
  expect(result.current.uploads).toMatchObject([{ path: "/notes/a.md", progress: 0 }]);
  await act(async () => ends[2]?.()); // it was given up
  expect(result.current.uploads).toHaveLength(1);
  await act(async () => ends[3]?.());
  await waitFor(() => expect(result.current.uploads).toEqual([]));
});
