// @vitest-environment jsdom
import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { overrides, page } from "../react/kit";
import { json } from "../testkit/oracle";
import type { ICollection } from "./types";
import { useCollections } from "./useCollections";
import { useKnowledge } from "./useKnowledge";
import { useQuestions } from "./useQuestions";

vi.mock("../core/line", () => import("../testkit/socket"));
beforeEach(() => localStorage.clear());
afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const source = { collection: "c 1", collectionName: "Clinic", document: "f/1", name: "hours.md" };
const hit = { ...source, title: "Hours", number: 2, headings: [] };

test("useKnowledge lists what may be asked, asks it, and reads around a passage", async () => {
  const { oracle, Page } = page();
  oracle.on("GET", /^\/knowledge\/collections$/, () =>
    json({ collections: [{ id: "c 1", name: "Clinic" }] }),
  );
  oracle.on("POST", /^\/knowledge\/search$/, ({ body }) => json({ asked: body, hits: [] }));
  oracle.on("GET", /^\/knowledge\/passages\//, ({ path }) => json({ passages: [{ text: path }] }));
  const { result } = renderHook(() => useKnowledge({ oracleDid: "did:o", overrides }), {
    wrapper: Page,
  });
  await waitFor(() => expect(result.current.collections).toEqual([{ id: "c 1", name: "Clinic" }]));
  await expect(result.current.ask("when?", { limit: 2 })).resolves.toMatchObject({
    asked: { query: "when?", limit: 2 },
  });
  const [passage] = await result.current.read(hit, 1);
  expect(passage?.text).toMatch(/^\/knowledge\/passages\/c%201\/f%2F1\/2/);
});

test("useCollections keeps up with documents that are read, with a token for files", async () => {
  const { oracle, Page } = page();
  const clinic = (reading: number): ICollection => ({
    id: "c1",
    name: "Clinic",
    folder: "/knowledge/clinic",
    readers: "everybody",
    dids: [],
    createdAt: "",
    updatedAt: "",
    documents: { waiting: 0, reading, read: 1 - reading, failed: 0 },
    published: true,
    complete: true,
  });
  let shelf = [clinic(1)];
  const asked: string[] = [];
  oracle.on("GET", /^\/api\/knowledge\/collections$/, ({ headers }) => {
    asked.push(headers["Authorization"] ?? "");
    return json({ collections: shelf });
  });
  oracle.on("GET", /^\/api\/knowledge\/collections\/c1\/documents/, ({ path }) =>
    path.includes("after")
      ? json({ documents: [{ id: "f2" }] })
      : json({ documents: [{ id: "f1" }], next: "/a b" }),
  );
  oracle.on("POST", /^\/api\/knowledge\/collections$/, ({ body }) => json({ ...clinic(0), body }));
  oracle.on("DELETE", /^\/api\/knowledge\/collections\/c1$/, () => {
    shelf = [];
    return new Response(null, { status: 204 });
  });
  const { result } = renderHook(
    () => useCollections({ oracleDid: "did:o", overrides, fileToken: async () => "fs" }),
    { wrapper: Page },
  );
  await waitFor(() => expect(result.current.collections).toEqual([clinic(1)]));
  expect(result.current.documents["c1"]?.map((d) => d.id)).toEqual(["f1", "f2"]);
  expect(asked[0]).toBe("Bearer fs");
  shelf = [clinic(0)];
  await waitFor(() => expect(result.current.collections).toEqual([clinic(0)]));
  await act(async () => {
    const made = await result.current.create({ name: "Clinic", readers: "members" });
    expect(made).toMatchObject({ body: { name: "Clinic", readers: "members" } });
  });
  await act(() => result.current.forget("c1"));
  expect(result.current.collections).toEqual([]);
});

test("useQuestions sends what the user agreed to, and waits for the answer", async () => {
  const { oracle, Page } = page();
  const asked = { id: "q1", question: "which colour?", state: "waiting" };
  let questions: object[] = [];
  const bodies: unknown[] = [];
  oracle.on("GET", /^\/knowledge\/questions$/, () => json({ questions }));
  oracle.on("POST", /^\/knowledge\/questions$/, ({ body }) => {
    bodies.push(body);
    questions = [asked];
    return json(asked);
  });
  const { result } = renderHook(() => useQuestions({ oracleDid: "did:o", overrides }), {
    wrapper: Page,
  });
  await waitFor(() => expect(result.current.isLoading).toBe(false));
  await act(async () => {
    await result.current.send("which colour?");
  });
  expect(bodies).toEqual([{ question: "which colour?" }]);
  expect(result.current.questions).toEqual([asked]);
  await act(async () => {
    await result.current.send("who?", { showMe: true, name: "Amina" });
  });
  expect(bodies[1]).toEqual({ question: "who?", showMe: true, name: "Amina" });
  questions = [{ ...asked, state: "answered", answer: "green" }];
  act(() => void dispatchEvent(new Event("focus")));
  await waitFor(() => expect(result.current.questions[0]?.answer).toBe("green"));
});
