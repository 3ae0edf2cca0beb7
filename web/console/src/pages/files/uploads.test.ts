// @vitest-environment jsdom
import { RequestError } from "@castalia/oracles-client";
import { act, renderHook, waitFor } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import type { Files } from "./api";
import { useUploads, type Outcome } from "./uploads";

const store = vi.hoisted(() => ({ at: new Set<string>(), busy: new Set<string>(), met: 0 }));

vi.mock("@castalia/oracles-client/attachments", () => ({
  forgetUpload: () => Promise.resolve(),
  uploadFile: async (_: unknown, path: string) => {
    if (store.busy.has(path)) store.met++;
    if (store.at.has(path)) throw new RequestError(409, "a file already exists at this path");
    store.busy.add(path);
    await Promise.resolve();
    store.busy.delete(path);
    store.at.add(path);
  },
}));

test("files of one name go one after the other, and the second is asked about", async () => {
  const ends: Outcome[] = [];
  const asked: string[][] = [];
  const asking = {
    ask: async (names: string[]) => {
      asked.push(names);
      return "both" as const;
    },
    onEnd: (outcome: Outcome) => ends.push(outcome),
  };
  const files = {} as Files;
  const stored = () => undefined;
  const { result } = renderHook(() => useUploads(files, stored, asking));
  const names = ["same.txt", "same.txt", "other.txt"];
  act(() =>
    result.current.add(
      names.map((path) => ({ path, file: new File(["x"], path) })),
      "/",
    ),
  );
  await waitFor(() => expect(ends).toHaveLength(1));
  expect(ends[0]).toEqual({ stored: 3, skipped: 0, failed: 0, stopped: 0 });
  expect(asked).toEqual([["same.txt"]]);
  expect([...store.at].sort()).toEqual(["/other.txt", "/same (2).txt", "/same.txt"]);
  expect(store.met).toBe(0);
  expect(result.current.isBusy).toBe(false);
});
