import { afterEach, expect, test } from "vitest";
import { json, until } from "../testkit/oracle";
import { FakeOracle } from "../testing/oracle";
import { createOracles, type OpenedChat } from "./index";
import { oraclesOn } from "./oracles";

const initialWallet = {
  address: "ixo1me",
  did: "did:key:me",
  matrix: { accessToken: "", homeServer: "" },
};
const createDelegation = async () => ({ serialized: "d", expiresAt: Date.now() + 3_600_000 });

let opened: OpenedChat[] = [];
afterEach(() => {
  for (const chat of opened) chat.close();
  opened = [];
});

/** A user's oracles of which one is there; found by the gateway unless told where. */
function start(where: { queryGateway?: string } | "by address" = "by address") {
  const oracle = new FakeOracle();
  const found = where === "by address" ? {} : { queryGateway: oracle.queryGateway, ...where };
  const oracles = oraclesOn({ initialWallet, createDelegation, ...found }, oracle.network);
  const at = {
    oracleDid: oracle.did,
    ...(where === "by address" ? { overrides: { baseUrl: oracle.url } } : {}),
  };
  const open = (sessionId = "$s") => {
    const chat = oracles.openChat({ ...at, sessionId });
    opened.push(chat);
    return chat;
  };
  return { oracle, oracles, at, open };
}

const texts = (chat: OpenedChat) => chat.get().messages.map((m) => m.content);

test("a page without a framework makes a session, talks in it and forgets it", async () => {
  const { oracles, at, open } = start();
  const { sessionId } = await oracles.createSession(at);
  const chat = open(sessionId);
  const seen: string[] = [];
  const leave = chat.subscribe(({ status }) => seen.push(status));
  expect(seen).toEqual(["ready"]); // A store tells at once.
  await chat.sendMessage("water");
  expect(texts(chat)).toEqual(["water", "You said: water"]);
  expect(chat.get().isSending).toBe(false);
  expect(seen).toContain("streaming");
  leave();
  const told = seen.length;
  await chat.sendMessage("bread");
  expect(seen).toHaveLength(told);
  expect((await oracles.listSessions(at)).sessions.map((s) => s.sessionId)).toEqual([sessionId]);
  await oracles.deleteSession(at, sessionId);
  expect(await oracles.listSessions(at)).toEqual({ sessions: [], total: 0 });
});

test("what did not change is the same object", async () => {
  const { open } = start();
  const chat = open();
  await chat.sendMessage("water");
  const before = chat.get();
  expect(chat.get()).toBe(before);
  chat.clearError();
  expect(chat.get()).toBe(before);
});

test("a turn that failed says why, and is asked again", async () => {
  const { oracle, open } = start();
  const chat = open();
  oracle.respond = () => ({ error: "The model is out of service" });
  await chat.sendMessage("water");
  expect(chat.get()).toMatchObject({
    status: "error",
    error: { message: "The model is out of service" },
  });
  oracle.respond = () => "Clear and cold";
  await chat.retry();
  expect(chat.get()).toMatchObject({ status: "ready", error: undefined });
  expect(texts(chat).at(-1)).toBe("Clear and cold");
});

test("a turn that would fail again is not offered again", async () => {
  const { oracle, open } = start();
  const chat = open();
  oracle.respond = () => ({ error: "The filter refused it.", retryable: false });
  await chat.sendMessage("water");
  expect(chat.get()).toMatchObject({ status: "error", canRetry: false });
  oracle.respond = () => ({ error: "The model is busy.", retryable: true });
  await chat.sendMessage("water");
  expect(chat.get()).toMatchObject({ status: "error", canRetry: true });
});

test("what is sent before the gateway has found the oracle goes out when it has", async () => {
  const { oracle, oracles, at, open } = start({});
  const chat = open();
  expect(chat.get().isConfigReady).toBe(false);
  await chat.sendMessage("water");
  expect(chat.get().isConfigReady).toBe(true);
  expect(texts(chat)).toEqual(["water", "You said: water"]);
  await oracles.createSession(at);
  expect(oracle.requests("GET", /^\/ixo\/entity\//)).toHaveLength(1);
});

test("an oracle that the gateway does not know is told, and nobody waits for it", async () => {
  const { oracle, oracles, at, open } = start({});
  oracle.on("GET", /^\/ixo\/entity\//, () => new Response("{}", { status: 404 }));
  const chat = open();
  await expect(chat.sendMessage("water")).rejects.toThrow("404");
  expect(chat.get().error?.message).toMatch("404");
  await expect(oracles.createSession(at)).rejects.toThrow("404");
});

test("a gateway that is away is asked again, at once for who does not wait", async () => {
  const { oracle, open } = start({});
  let isAway = true;
  oracle.on("GET", /^\/ixo\/entity\//, () => {
    if (isAway) throw new TypeError("Failed to fetch");
    return json({
      iid_document: { service: [{ type: "oracleService", service_endpoint: oracle.url }] },
    });
  });
  const chat = open();
  await until(() => chat.get().error !== undefined);
  expect(chat.get()).toMatchObject({ isRetrying: true, isConfigReady: false });
  isAway = false;
  await chat.refetchMessages();
  await until(() => !chat.get().isLoading);
  expect(chat.get()).toMatchObject({ isRetrying: false, isConfigReady: true, error: undefined });
});

test("an entity that names no address is told", async () => {
  const { oracle, oracles, at } = start({});
  oracle.on("GET", /^\/ixo\/entity\//, () => new Response("{}"));
  await expect(oracles.createSession(at)).rejects.toThrow("does not say where it is");
});

test("without gateway and address there is no oracle", async () => {
  const oracles = createOracles({ initialWallet, createDelegation });
  const chat = oracles.openChat({ oracleDid: "did:o", sessionId: "$s" });
  await expect(chat.sendMessage("water")).rejects.toThrow("No query gateway");
  await expect(oracles.createSession({ oracleDid: "did:o" })).rejects.toThrow("No query gateway");
});

test("conversations of one session share its history and its line", async () => {
  const { oracle, open } = start();
  const [first, second] = [open(), open()];
  await first.sendMessage("water");
  expect(second.get().messages).toBe(first.get().messages);
  await until(() => second.get().isRealTimeConnected);
  expect(oracle.sockets).toHaveLength(1);
});

test("who left a conversation sends nothing in it any more", async () => {
  const { oracle, open } = start({});
  const chat = open();
  const waiting = chat.sendMessage("water");
  chat.close();
  await expect(waiting).rejects.toThrow("closed");
  await expect(chat.sendMessage("bread")).rejects.toThrow("closed");
  expect(oracle.requests("POST", /^\/messages\//)).toEqual([]);
});

test("options are read when they are needed", async () => {
  const { oracle, oracles, at } = start();
  const options = { ...at, sessionId: "$s", model: "small" };
  const chat = oracles.openChat(options);
  opened.push(chat);
  options.model = "large";
  await chat.sendMessage("water");
  expect(oracle.requests("POST", /^\/messages\//)[0]?.body).toMatchObject({ model: "large" });
});
