// The client library in a real page, on an origin of its own, against the real
// program: web/example is the page, behind a wire that a test can cut.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { minting } from "../../web/example/mint.mjs";
import { answerFile, startSite } from "./site.mjs";
import { endedToken } from "./tokens.mjs";
import { errorsOf, eventually, startWire } from "./world.mjs";

const root = resolve(fileURLToPath(import.meta.url), "../../..");
const built = join(root, "web/example/dist");

/** The example's page and its server, with a user of its own. */
async function startPage(world) {
  const folder = mkdtempSync(join(tmpdir(), "castalia-library-"));
  const binary = process.env.CASTALIA_BINARY ?? join(root, "bin/castalia");
  const wire = await startWire(world.url);
  const mints = [];
  const host = minting({ server: wire.url, binary, keyFile: join(folder, "user.key") });
  const server = await startSite((request, reply) => {
    if (request.url.startsWith("/mint/")) mints.push(request.url);
    host(request, reply, () => answerFile(built, request, reply));
  });
  const context = await world.browser.newContext();
  return {
    wire,
    mints,
    /** A token of this user that was good once. */
    endedToken: () => endedToken(world.url, join(folder, "user.key")),
    /** A tab on the page, what it asked for, and what went wrong. */
    async tab(hash = "") {
      const page = await context.newPage();
      page.setDefaultTimeout(60_000);
      // Not all drivers tell of them.
      await page.addInitScript(() => {
        const { WebSocket } = globalThis;
        globalThis.opened = 0;
        globalThis.WebSocket = class extends WebSocket {
          constructor(...to) {
            super(...to);
            globalThis.opened++;
          }
        };
      });
      const seen = { requests: [], errors: errorsOf(page), sockets: () => page.evaluate(() => globalThis.opened) };
      page.on("request", (r) => {
        // Not all drivers tell what the browser asks by itself.
        if (r.method() !== "OPTIONS") seen.requests.push(`${r.method()} ${new URL(r.url()).pathname}`);
      });
      await page.goto(`${server.url}/${hash}`);
      return { page, seen };
    },
    async stop() {
      await context.close();
      wire.stop();
      server.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

/** A homeserver that proves who its users are, to pages of any origin. */
function startMatrix() {
  return startSite((request, reply) => {
    reply.setHeader("Access-Control-Allow-Origin", "*");
    reply.setHeader("Access-Control-Allow-Headers", "Authorization, Content-Type");
    const asked = request.method === "POST" && /\/openid\/request_token$/.test(request.url);
    if (request.method !== "OPTIONS" && !asked) return reply.writeHead(404).end();
    const token = { access_token: "openid", token_type: "Bearer", matrix_server_name: "m", expires_in: 60 };
    reply.end(JSON.stringify(token));
  });
}

/** A tab in a conversation of its own whose live channel is up. */
async function begin(site) {
  const tab = await site.tab();
  await tab.page.getByRole("button", { name: "New conversation" }).click();
  await live(tab.page);
  return tab;
}

const live = (page) => page.getByRole("status").getByText("live").waitFor();

async function send(page, text) {
  await page.getByLabel("Your message").fill(text);
  await page.keyboard.press("Enter");
}

const replies = (page) => page.locator("article.ai").allTextContents();

/** Waits until the newest reply is this, and the turn is over. */
function said(page, want) {
  return eventually(`the reply is ${want}`, async () => {
    const text = (await replies(page)).at(-1)?.trim();
    const state = await page.getByRole("status").textContent();
    return text === want && state.startsWith("ready");
  });
}

const counted = (n) => Array.from({ length: n }, (_, i) => `n${i + 1}`).join(" ");

const posts = (seen) => seen.requests.filter((r) => r.startsWith("POST /messages/"));

export function libraryTests(world) {
  const on = (name, run) =>
    test(`library: ${name}`, async () => {
      const site = await startPage(world);
      try {
        await run(site);
      } finally {
        await site.stop();
      }
    });

  on("a line that breaks in the middle of a reply loses and repeats nothing", async (site) => {
    const { page, seen } = await begin(site);
    await send(page, "count to 40 every 5 hold at 20");
    await page.getByText("n20").waitFor();
    site.wire.cut();
    await page.getByRole("status").getByText("live").waitFor({ state: "hidden" });
    world.model.release();
    site.wire.mend();
    await said(page, counted(40));
    assert.equal(posts(seen).length, 1, "the message is posted once");
    await live(page);
    assert.deepEqual(seen.errors, []);
  });

  // A browser repeats by itself what broke on a connection that it had kept, and
  // says so to nobody; what breaks again is the page's.
  on("a message whose answer is lost is there once, and is answered", async (site) => {
    const { page, seen } = await begin(site);
    await send(page, "one");
    await said(page, "You said: one");
    for (const [text, times] of [
      ["two", 1],
      ["three", 2],
    ]) {
      site.wire.lose("POST /messages/", times);
      await send(page, text);
      await said(page, `You said: ${text}`);
    }
    const all = ["one", "two", "three"].map((text) => `You said: ${text}`);
    assert.deepEqual(await replies(page), all);
    // Whether the page asked for the run or its socket told it first is a matter of
    // time; that it posted once, and shows each answer once, is not.
    assert.equal(posts(seen).length, 3, "the page posts a message once");
    assert.equal(await page.getByRole("alert").count(), 0);
    await page.reload();
    await said(page, "You said: three");
    assert.deepEqual(await replies(page), all);
    assert.deepEqual(seen.errors, []);
  });

  on("a page that is loaded again in the middle of a reply joins it", async (site) => {
    const { page, seen } = await begin(site);
    await send(page, "count to 40 every 5 hold at 20");
    await page.getByText("n20").waitFor();
    await page.reload();
    await page.getByText("n20").waitFor();
    await page.getByRole("status").getByText("streaming").waitFor();
    world.model.release();
    await said(page, counted(40));
    assert.equal(posts(seen).length, 1);
    assert.deepEqual(seen.errors, []);
  });

  on("text and calls stay in order while they come and after a reload", async (site) => {
    const { page, seen } = await begin(site);
    await send(page, "steps with page_title");
    const want = ["Text 0. page_title: doneText 1. page_title: doneText 2."];
    const trimmed = async () => (await replies(page)).map((text) => text.trim());
    await eventually("the turn is over", async () => (await page.getByRole("status").textContent()).startsWith("ready"));
    assert.deepEqual(await trimmed(), want);
    await page.reload();
    await eventually("the history is there", async () => (await replies(page)).length > 0);
    assert.deepEqual(await trimmed(), want, "the same order after a reload");
    assert.deepEqual(seen.errors, []);
  });

  on("what the model refuses is told on the page", async (site) => {
    const { page } = await begin(site);
    await send(page, "fail with 400");
    await page.getByRole("alert").first().waitFor();
    await eventually("it is over", async () => (await page.getByRole("status").textContent()).startsWith("error"));
    const told = (await page.getByRole("alert").first().textContent()).trim();
    assert.notEqual(told, "");
    await page.reload();
    await page.getByText(told).waitFor();
    assert.equal(await page.getByRole("alert").count(), 0, "it is history now");
    await send(page, "water");
    await said(page, "You said: water");
  });

  on("a page that opens while the oracle is away comes to life by itself", async (site) => {
    const { page } = await begin(site);
    await send(page, "water");
    await said(page, "You said: water");
    site.wire.cut();
    await page.reload();
    await page.getByLabel("Your message").waitFor();
    assert.deepEqual(await replies(page), []);
    site.wire.mend();
    await said(page, "You said: water");
    await live(page);
  });

  on("two tabs show one conversation, and one of them is called", async (site) => {
    const first = await begin(site);
    const second = await site.tab(new URL(first.page.url()).hash);
    await live(second.page);
    await send(first.page, "water");
    await said(first.page, "You said: water");
    await said(second.page, "You said: water");
    await second.page.evaluate(() => (document.title = "The other tab"));
    await send(second.page, "call page_title {}");
    const answer = /The tool said: .*(Ask an oracle|The other tab)/;
    for (const { page } of [first, second]) {
      await eventually("both show what one answered", async () => answer.test((await replies(page)).at(-1) ?? ""));
    }
    assert.deepEqual([...first.seen.errors, ...second.seen.errors], []);
  });

  on("a second tab follows a running turn, and writing there does not cut it", async (site) => {
    const first = await begin(site);
    const second = await site.tab(new URL(first.page.url()).hash);
    await live(second.page);
    await send(first.page, "count to 40 every 5 hold at 20");
    for (const { page } of [first, second]) await page.getByText("n20").waitFor();
    await second.page.getByRole("status").getByText("streaming").waitFor();
    await send(second.page, "water");
    await eventually("it is on its way", () => posts(second.seen).length === 1);
    world.model.release();
    for (const { page } of [first, second]) {
      await said(page, "You said: water");
      assert.deepEqual((await replies(page)).map((text) => text.trim()), [counted(40), "You said: water"]);
      assert.equal(await page.locator("article.human").count(), 2);
    }
    // A tool runs in the tab that asked, although the other one was used last.
    await first.page.evaluate(() => (document.title = "The first tab"));
    await send(first.page, "call page_title {}");
    for (const { page } of [first, second]) {
      await eventually("the tab that asked answered", async () => (await replies(page)).at(-1)?.includes("The first tab"));
    }
    assert.deepEqual([...first.seen.errors, ...second.seen.errors], []);
  });

  on("an action is done by the page and drawn by it, also from the history", async (site) => {
    const { page } = await begin(site);
    await send(page, 'call show_colour {"colour":"teal"}');
    await page.getByText("This is teal").waitFor();
    await eventually("the oracle heard of it", async () => (await replies(page)).at(-1)?.includes('"shown":"teal"'));
    await page.reload();
    await page.getByText("This is teal").waitFor();
  });

  on("options that are new in every render open nothing twice", async (site) => {
    const { page, seen } = await begin(site);
    // The first turn is also when the oracle asks for a delegation, once.
    await send(page, "zero");
    await said(page, "You said: zero");
    await eventually("it has a delegation", () => seen.requests.includes("POST /delegation"));
    seen.requests.length = 0;
    for (const text of ["one", "two", "three"]) {
      await send(page, text);
      await said(page, `You said: ${text}`);
    }
    assert.equal(await seen.sockets(), 1);
    assert.deepEqual(seen.requests, posts(seen), "nothing but the messages is sent");
    assert.equal(seen.requests.length, 3, "one request a turn");
    assert.equal(site.mints.filter((m) => m.startsWith("/mint/invocation")).length, 1);
    assert.deepEqual(seen.errors, []);
  });

  // The page keeps a token that it believes to be good for minutes, and that
  // the oracle refuses.
  on("a token that ended early is renewed once and nothing is lost", async (site) => {
    const { page, seen } = await begin(site);
    await send(page, "before");
    await said(page, "You said: before");
    const ended = await site.endedToken();
    await page.evaluate((serialized) => {
      const kept = JSON.parse(localStorage.getItem("oracles_ucan_invocations"));
      for (const token of Object.values(kept)) token.serialized = serialized;
      localStorage.setItem("oracles_ucan_invocations", JSON.stringify(kept));
    }, ended);
    const minted = () => site.mints.filter((m) => m.startsWith("/mint/invocation")).length;
    const before = minted();
    await page.reload();
    await live(page);
    await send(page, "again");
    await said(page, "You said: again");
    assert.equal(minted(), before + 1, "history, run and socket share one new token");
    assert.deepEqual(await replies(page), ["You said: before", "You said: again"]);
    assert.equal(posts(seen).length, 2);
    assert.deepEqual(seen.errors, []);
  });

  on("every other hook works, and finds the oracle by its entity", async (site) => {
    const matrix = await startMatrix();
    const { page, seen } = await site.tab(`hooks.html?matrix=${encodeURIComponent(matrix.url)}`);
    const told = (name, want) => page.getByLabel(name, { exact: true }).getByText(want).waitFor();
    await told("Address", /^http:\/\/127\.0\.0\.1:\d+$/); // of a node, whichever answered
    await told("Default model", /./);
    await told("Models", /./);
    await told("OpenID token", "openid");
    await page.getByRole("button", { name: "Remember" }).click();
    await told("Memories", "I drink tea");
    await page.getByRole("button", { name: "Forget" }).click();
    await page.getByText("I drink tea").waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Contract" }).click();
    await page.getByText("MsgCreateClaimAuthorization").waitFor();
    await page.getByRole("button", { name: "Pay" }).click();
    await page.getByText("MsgEvaluateClaim").waitFor();
    assert.deepEqual(seen.errors, []);
    matrix.stop();
  });

  on("a key that the browser makes is all that a page needs, and it outlives the page", async (site) => {
    const { page, seen } = await site.tab(`wallet.html?server=${encodeURIComponent(site.wire.url)}`);
    const did = () => page.getByLabel("You").textContent();
    const hello = async () => {
      await page.getByRole("button", { name: "New conversation" }).click();
      await page.getByRole("button", { name: "Say hello" }).click();
      await page.locator("p.ai").getByText("You said: Hello").waitFor();
    };
    await page.getByRole("button", { name: "wrapped" }).waitFor();
    await hello();
    const first = await did();
    assert.match(first, /^did:key:z6Mk/);
    await page.getByRole("button", { name: "wrapped" }).click();
    await page.getByRole("button", { name: "sealed" }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: "sealed" }).waitFor();
    assert.equal(await did(), first, "the same key after a reload, locked");
    // Other tokens than those of the page before are signed with it.
    await page.evaluate(() => localStorage.clear());
    await page.reload();
    await hello();
    const kept = await page.evaluate(
      () =>
        new Promise((done) => {
          const open = indexedDB.open("castalia-wallet");
          open.onsuccess = () => {
            const read = open.result.transaction("keys").objectStore("keys").get("current");
            read.onsuccess = () => done([Object.keys(read.result).sort(), read.result.key.extractable]);
          };
        }),
    );
    assert.deepEqual(kept, [["did", "key"], false], "nothing can read the key");
    assert.deepEqual(site.mints, [], "no server signed anything");
    assert.deepEqual(seen.errors, []);
  });

  on("stopping a reply keeps what was said", async (site) => {
    const { page } = await begin(site);
    await send(page, "count to 400 every 5 hold at 20");
    await page.getByText("n20").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("status").getByText("ready").waitFor();
    world.model.release();
    const kept = (await replies(page)).at(-1).trim();
    assert.equal(kept, counted(kept.split(" ").length), "a beginning of the reply");
    await page.reload();
    await eventually("the history has it too", async () => (await replies(page)).at(-1)?.trim().startsWith("n1 n2"));
  });
}

/** Against a program that gives newcomers a little credit and then asks for payment. */
export function paymentTests(world) {
  test("library: payment that is due is told to the page", async () => {
    const site = await startPage(world);
    try {
      const { page, seen } = await begin(site);
      const due = page.getByRole("alert").getByText("To be paid first");
      await eventually("the credit is used up", async () => {
        await send(page, `Tell me everything. ${"And more of it. ".repeat(300)}`);
        await page.getByRole("status").getByText("ready").waitFor();
        return due.isVisible();
      });
      assert.deepEqual(seen.errors, []);
    } finally {
      await site.stop();
    }
  });
}
