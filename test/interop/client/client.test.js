// The published client 1.4.0 against the real program: everything that it does
// with an oracle, on a page of another origin.
import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { once } from "node:events";
import { after, afterEach, before, describe, it } from "node:test";
import { Page, texts } from "./page.js";
import { answered, requests } from "./browser.js";
import { Model, told } from "./model.js";
import { eventually, World } from "../world.mjs";
import { z } from "zod";

let model, world, page, release;

/** What the model says is in the message itself. */
async function* answer(asked) {
  const { text, results } = told(asked);
  if (text.startsWith("{") && !results.length) return yield JSON.parse(text);
  if (results.length) return yield `The tool said ${results.join(" and ")}.`;
  yield "Hello ";
  if (text.includes("slowly")) await new Promise((done) => (release = done));
  yield `from ${text}.`;
}

const settings = (extra) => ({ MODEL_PROVIDER: "openai", MODEL: "test", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "k", QUERY_CORS_ORIGIN: "*", ...extra });

/** The entity that the embedded chain seeds for its oracle. */
async function entityOf(w) {
  const { entities } = await (await fetch(`${w.url}/ixo/entity`)).json();
  return entities.find((entity) => entity.type === "oracle").id;
}

async function newPage(w = world) {
  page = new Page(w, await entityOf(w));
  return page;
}

/** A page with the chat of a new session. */
async function newChat(options) {
  await newPage();
  await page.sessions();
  await page.until("sessions are there", ({ isLoading, isConfigReady }) => isConfigReady && !isLoading);
  const { sessionId } = await page.now.createSession();
  await page.chat(sessionId, options);
  await page.until("the socket is up", ({ isRealTimeConnected, isLoading }) => isRealTimeConnected && !isLoading);
  page.sessionId = sessionId;
  return page;
}

before(async () => {
  model = await Model.start(answer);
  world = await World.start(settings());
});
afterEach(() => page?.close());
after(async () => {
  await world?.stop();
  model?.stop();
});

describe("configuration and sessions", () => {
  it("finds the oracle by its entity", async () => {
    await newPage();
    await page.sessions();
    await page.until("the configuration is resolved", ({ oracle }) => oracle?.isReady);
    assert.equal(page.now.oracle.config.apiUrl, world.url);
    assert.equal(page.now.oracle.config.socketUrl.replace(/^ws/, "http"), world.url);
    await page.until("models are listed", ({ models }) => models?.models?.length || models?.data);
  });

  it("creates, lists by pages and deletes sessions", async () => {
    await newPage();
    await page.sessions();
    await page.until("sessions are there", ({ isLoading, isConfigReady }) => isConfigReady && !isLoading);
    const before = page.now.total;
    const made = [];
    for (let i = 0; i < 25; i++) made.push(await page.now.createSession());
    assert.deepEqual(Object.keys(made[0]).filter((key) => ["sessionId", "title", "createdAt", "lastUpdatedAt", "oracleName"].includes(key)).length, 5);
    await page.until("the list has them", ({ total, sessions }) => total === before + 25 && sessions.length === 20);
    assert.ok(page.now.hasNextPage);
    await page.now.fetchNextPage();
    await page.until("the second page came", ({ sessions, total }) => sessions.length === total);
    for (const { sessionId } of made) await page.now.deleteSession(sessionId);
    await page.until("they are gone", ({ total }) => total === before);
    await assert.rejects(page.now.deleteSession(made[0].sessionId), (error) => error.status === 404);
  });
});

describe("chat", () => {
  it("mounts with history, a look for a run, and a socket", async () => {
    requests.length = 0;
    await newChat();
    const id = page.sessionId;
    assert.ok(requests.includes(`GET /sessions/${encodeURIComponent(id)}/messages?limit=20`), requests.join("\n"));
    await eventually(() => "the run is asked for", async () => requests.includes(`GET /sessions/${id}/run`));
    assert.ok(!requests.some((line) => line.startsWith("GET /messages/")), "paged history was refused");
    assert.deepEqual(page.now.messages, []);
    assert.equal(page.now.status, "ready");
  });

  it("streams an answer and finds it in the transcript", async () => {
    await newChat();
    page.statuses.length = 0;
    await page.say("here");
    await page.until("the turn is over", ({ status }) => status === "ready");
    assert.deepEqual(page.statuses.filter((status) => status !== "submitted"), ["streaming", "ready"]);
    await page.until("the transcript replaced what was shown", ({ messages }) => messages.length === 2);
    assert.deepEqual(texts(page.now.messages, "human"), ["here"]);
    assert.deepEqual(texts(page.now.messages, "ai"), ["Hello from here."]);
    assert.equal(page.now.run.ended, "done");
    assert.equal(model.asked.at(-1).messages.at(-1).role, "user");
  });

  it("pages back through a long history", async () => {
    await newChat({ historyPageSize: 2 });
    for (const word of ["one", "two", "three"]) {
      await page.say(word);
    }
    const id = page.sessionId;
    page.close();
    await newPage();
    await page.chat(id, { historyPageSize: 2 });
    await page.until("two turns are shown", ({ messages }) => texts(messages, "human").join() === "two,three");
    assert.ok(page.now.hasEarlier);
    await page.now.loadEarlier();
    await page.until("all are shown", ({ messages }) => texts(messages, "human").join() === "one,two,three");
    assert.ok(!page.now.hasEarlier);
  });

  it("stops an answer and keeps the line", async () => {
    await newChat();
    const sent = page.now.sendMessage("go slowly").catch(() => {});
    await page.until("something is said", ({ messages }) => texts(messages, "ai").join("").includes("Hello"));
    await page.now.abortStream();
    await sent;
    await page.until("ready", ({ status, isRealTimeConnected }) => status === "ready" && isRealTimeConnected);
    const headers = { "x-ucan-delegation": await page.delegation() };
    const run = await (await fetch(`${world.url}/sessions/${encodeURIComponent(page.sessionId)}/run`, { headers })).json();
    assert.equal(run.run, null);
    release();
    await page.say("again");
    await page.until("the next turn works", ({ messages, status }) => status === "ready" && texts(messages, "ai").join("").includes("from again."));
  });

  it("shows a turn of another device", async () => {
    await newChat();
    const headers = { "content-type": "application/json", "x-ucan-delegation": await page.delegation() };
    const reply = await fetch(`${world.url}/messages/${page.sessionId}`, { method: "POST", headers, body: JSON.stringify({ message: "elsewhere" }) });
    assert.equal(reply.status, 200);
    await page.until("the page has it", ({ messages }) => texts(messages, "ai").join("") === "Hello from elsewhere.");
    await page.until("the session has a title", async () => (await (await fetch(`${world.url}/sessions`, { headers })).json()).sessions[0].title === "A title");
  });

  it("joins a run that is under way when it mounts", async () => {
    await newChat();
    const id = page.sessionId;
    void page.now.sendMessage("go slowly").catch(() => {});
    await page.until("something is said", ({ messages }) => texts(messages, "ai").join("").includes("Hello"));
    page.close();
    await newPage();
    await page.chat(id);
    await page.until("the page has joined", ({ status, messages }) => status === "streaming" && texts(messages, "ai").join("").includes("Hello"));
    release();
    await page.until("the answer is whole", ({ status, messages }) => status === "ready" && texts(messages, "ai").join("") === "Hello from go slowly.");
  });

  it("comes back to a run whose line was cut", async () => {
    const cut = new Set();
    const proxy = createServer((near) => {
      const far = connect(world.port, "127.0.0.1");
      cut.add(near);
      near.pipe(far).pipe(near);
      for (const line of [near, far]) line.on("error", () => {}).on("close", () => (near.destroy(), far.destroy(), cut.delete(near)));
    }).listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const baseUrl = `http://127.0.0.1:${proxy.address().port}`;
    await newChat({ overrides: { baseUrl, wsUrl: world.url } });
    requests.length = answered.length = 0;
    void page.now.sendMessage("go slowly").catch(() => {});
    await page.until("something is said", ({ messages }) => texts(messages, "ai").join("").includes("Hello"));
    const { requestId } = page.now.run;
    for (const line of cut) line.destroy();
    // Answered, not only asked: this client shows a turn twice that is stored before it has joined.
    await page.until("it has joined again", () => answered.some((line) => /^GET \/runs\/[^?]+\?after=\d+$/.test(line)));
    release();
    await page.until("the answer is whole", ({ status, messages }) => status === "ready" && texts(messages, "ai").join("") === "Hello from go slowly.");
    assert.equal(requests.filter((line) => line.startsWith("POST /messages/")).length, 1);
    assert.equal(page.now.run.requestId, requestId, "the answer went on under another id, as another message");
    proxy.close();
    page.close();
    for (const line of cut) line.destroy();
  });
});

describe("tools on the page", () => {
  const uiComponents = { ToolCall: () => null, AgActionToolCall: () => null, Widget: () => null };

  it("runs a browser tool once and uses what it returns", async () => {
    const calls = [];
    const fn = async (args) => (calls.push(args), { doubled: args.n * 2 });
    await newChat({ uiComponents, browserTools: { double: { toolName: "double", description: "Doubles a number", schema: z.object({ n: z.number() }), fn } } });
    await page.say(JSON.stringify({ call: "double", args: { n: 21 } }));
    await page.until("the answer came", ({ messages }) => texts(messages, "ai").join("").includes("The tool said"));
    assert.deepEqual(calls, [{ n: 21 }]);
    assert.match(texts(page.now.messages, "ai").join(""), /doubled.*42/);
    const card = page.now.messages.flatMap((m) => (Array.isArray(m.content) ? m.content : [m.content])).find((part) => part?.props?.toolName === "double" || part?.name === "ToolCall");
    assert.equal(card?.props.status, "done", JSON.stringify(page.now.messages));
  });

  it("tells the model what a browser tool failed with", async () => {
    const fn = async () => {
      throw new Error("no paper");
    };
    await newChat({ browserTools: { print: { toolName: "print", description: "Prints", schema: z.object({}), fn } } });
    await page.say(JSON.stringify({ call: "print", args: {} }));
    await page.until("the answer came", ({ messages }) => texts(messages, "ai").join("").includes("no paper"));
  });

  it("runs an action exactly once and shows its result", async () => {
    const calls = [];
    const action = {
      name: "pick", description: "Asks to pick a colour", parameters: z.object({ colour: z.string() }),
      handler: async (args) => (calls.push(args), { picked: args.colour }),
    };
    await newChat({ uiComponents, action });
    await page.say(JSON.stringify({ call: "pick", args: { colour: "blue" } }));
    await page.until("the answer came", ({ messages }) => texts(messages, "ai").join("").includes("The tool said"));
    assert.deepEqual(calls, [{ colour: "blue" }]);
    assert.match(texts(page.now.messages, "ai").join(""), /picked.*blue/);
  });

  it("hands the page's own refusal of arguments to the model", async () => {
    const calls = [];
    const action = { name: "pick", description: "Picks", parameters: z.object({ colour: z.string() }), handler: async (args) => calls.push(args) };
    await newChat({ action });
    await page.say(JSON.stringify({ call: "pick", args: { colour: 7 } }));
    await page.until("the answer came", ({ messages }) => texts(messages, "ai").join("").includes("The tool said"));
    assert.deepEqual(calls, []);
    assert.match(texts(page.now.messages, "ai").join(""), /expected string/i);
  });
});

describe("refusals", () => {
  it("names the claims of somebody who has to pay", async () => {
    const poor = await World.start(settings({ FEATURES: "credits=true" }));
    try {
      await newPage(poor);
      await page.chat("unpaid", {});
      await page.until("the history was refused", ({ error }) => error);
      assert.ok(page.paid.length > 0 && Array.isArray(page.paid[0]), JSON.stringify(page.paid));
      const before = page.paid.length;
      await page.say("hi");
      await page.until("the message was refused", ({ status }) => status === "ready");
      assert.ok(page.paid.length > before && Array.isArray(page.paid.at(-1)));
      page.close();
    } finally {
      await poor.stop();
    }
  });

  it("shows an unknown session as an error", async () => {
    await newPage();
    await page.chat("$unknown:example.org");
    await page.until("the history was refused", ({ error }) => error?.status === 404);
    await assert.rejects(page.say("hi"), (error) => error.statusCode === 404 && /Session not found/.test(error.message));
    assert.equal(page.now.status, "error");
  });
});
