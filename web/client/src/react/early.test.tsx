// @vitest-environment jsdom
// What a page does before its oracle is found.
import { act, cleanup, renderHook, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { useApprovals } from "../approvals/useApprovals";
import { useFiles } from "../files/useFiles";
import { useCollections } from "../knowledge/useCollections";
import { useKnowledge } from "../knowledge/useKnowledge";
import { useQuestions } from "../knowledge/useQuestions";
import { json } from "../testkit/oracle";
import { page } from "./kit";
import { useMemoryEngine } from "./useMemoryEngine";
import { useModels } from "./useModels";
import { useOracleSessions } from "./useOracleSessions";

vi.mock("../core/line", () => import("../testkit/socket"));
beforeEach(() => localStorage.clear());
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const oracleDid = "did:o";
const fileToken = async () => "fs";

/** A page whose gateway does not know the oracle until it is told to. */
function lost() {
  const { oracle, Page } = page();
  let isKnown = false;
  oracle.on("GET", /^\/ixo\/entity\//, () =>
    isKnown
      ? json({
          entity: { service: [{ type: "oracleService", serviceEndpoint: "http://oracle.test" }] },
        })
      : json({ message: "No such entity" }, 404),
  );
  const wrapper = ({ children }: { children: React.ReactNode }) => (
    <Page queryGateway="http://gate.test/ixo">{children}</Page>
  );
  return { oracle, wrapper, find: () => (isKnown = true) };
}

test.each<[string, RegExp, () => { refetch: () => Promise<void>; error: Error | undefined }]>([
  ["useOracleSessions", /^\/sessions/, () => useOracleSessions(oracleDid)],
  ["useModels", /^\/models/, () => useModels(oracleDid)],
  ["useMemoryEngine", /^\/memory/, () => useMemoryEngine(oracleDid)],
  ["useApprovals", /^\/approvals/, () => useApprovals({ oracleDid, sessionId: "$s" })],
  ["useFiles", /^\/api\/fs\/tree/, () => useFiles({ oracleDid, fileToken })],
  ["useKnowledge", /^\/knowledge/, () => useKnowledge({ oracleDid })],
  ["useQuestions", /^\/knowledge/, () => useQuestions({ oracleDid })],
  ["useCollections", /^\/api\/knowledge/, () => useCollections({ oracleDid, fileToken })],
])("%s looks for an oracle again when it is told to", async (_, path, hook) => {
  const { oracle, wrapper, find } = lost();
  const { result } = renderHook(hook, { wrapper });
  await waitFor(() => expect(result.current.error?.message).toBe("No such entity"));
  find();
  await act(() => result.current.refetch());
  await waitFor(() => expect(oracle.requests("GET", path)).not.toEqual([]));
});

test("nothing that is asked of an oracle goes to the page's own server", async () => {
  const { oracle, wrapper } = lost();
  const { result } = renderHook(
    () => ({
      approvals: useApprovals({ oracleDid, sessionId: "$s" }),
      knowledge: useKnowledge({ oracleDid }),
      questions: useQuestions({ oracleDid }),
      collections: useCollections({ oracleDid, fileToken }),
      sessions: useOracleSessions(oracleDid),
    }),
    { wrapper },
  );
  await waitFor(() => expect(result.current.sessions.error?.message).toBe("No such entity"));
  const { approvals, knowledge, questions, collections, sessions } = result.current;
  const source = { collection: "c", collectionName: "C", document: "d", name: "n" };
  for (const ask of [
    () => approvals.approve("a"),
    () => knowledge.ask("when?"),
    () => knowledge.read({ ...source, title: "", number: 1, headings: [] }),
    () => questions.send("when?"),
    () => collections.create({ name: "n", folder: "/n", readers: "everybody", dids: [] }),
    () => collections.forget("c"),
  ]) {
    await act(() => expect(ask()).rejects.toThrow("not found yet"));
  }
  await act(() => expect(sessions.createSession()).rejects.toThrow("No such entity"));
  expect(oracle.seen.filter(({ path }) => !path.startsWith("/ixo/"))).toEqual([]);
});
