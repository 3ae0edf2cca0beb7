// How the browser keeps the user's key: wrapped, locked, or readable where it must be.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, check, say, visitors } from "./visitor.mjs";
import { startBrowser } from "./world.mjs";

/** All that script on the page can read of what the browser keeps, and the keys among it. */
function stored() {
  const keys = [];
  const open = (name) =>
    new Promise((done, fail) => {
      const request = indexedDB.open(name);
      request.onsuccess = () => done(request.result);
      request.onerror = () => fail(request.error);
    });
  const values = (db, table) =>
    new Promise((done, fail) => {
      const request = db.transaction(table).objectStore(table).getAll();
      request.onsuccess = () => done(request.result);
      request.onerror = () => fail(request.error);
    });
  const hex = (bytes) => [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
  async function read(value) {
    if (typeof value === "string") return value;
    if (globalThis.CryptoKey && value instanceof CryptoKey) {
      const told = await Promise.allSettled(
        ["raw", "pkcs8", "jwk"].map((form) => crypto.subtle.exportKey(form, value)),
      );
      keys.push({
        algorithm: value.algorithm.name,
        extractable: value.extractable || told.some((t) => t.status === "fulfilled"),
      });
      return "";
    }
    if (value instanceof ArrayBuffer) return hex(new Uint8Array(value));
    if (ArrayBuffer.isView(value)) return hex(new Uint8Array(value.buffer));
    if (typeof value !== "object" || value === null) return "";
    return (await Promise.all(Object.values(value).map(read))).join(" ");
  }
  return (async () => {
    const found = [JSON.stringify(localStorage), JSON.stringify(sessionStorage)];
    for (const { name } of await indexedDB.databases()) {
      const db = await open(name);
      for (const table of db.objectStoreNames) found.push(await read(await values(db, table)));
      db.close();
    }
    return { text: found.join(" "), keys };
  })();
}

function put(record) {
  return new Promise((done, fail) => {
    const request = indexedDB.open("castalia-console", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("keys");
    request.onerror = () => fail(request.error);
    request.onsuccess = () => {
      const writing = request.result.transaction("keys", "readwrite");
      writing.objectStore("keys").put(record, "current");
      writing.oncomplete = () => (request.result.close(), done());
    };
  });
}

const ed25519 = { algorithm: "Ed25519", extractable: false };

/** The DID that the About page shows. */
async function whoami(page) {
  await page.getByRole("link", { name: "About" }).click();
  return (await page.getByText(/^did:key:z6Mk/).first().textContent()).trim();
}

async function exported(page) {
  await page.getByRole("button", { name: "Export the key" }).click();
  return (await page.locator(".notice pre").textContent()).trim();
}

export function vaultTests(world) {
  const { newcomer, stranger } = visitors(world);

  test("a key is wrapped until its owner has a copy; then nothing can read it, and it still signs", async () => {
    const { page, context, close } = await newcomer();
    const did = await whoami(page);
    const key = await exported(page);
    assert.match(key, /^[0-9a-f]{64}$/);
    const before = await page.evaluate(stored);
    assert.ok(!before.text.includes(key), "the seed is stored readable");
    assert.deepEqual(before.keys.map((k) => k.algorithm).sort(), ["AES-GCM", "Ed25519"]);
    assert.ok(before.keys.every((k) => !k.extractable));
    const other = await context.newPage();
    await other.goto(`${world.url}/console/about`);
    await other.getByRole("button", { name: "Export the key" }).waitFor();

    await page.getByRole("button", { name: "I saved it, lock the key" }).click();
    await page.getByText("The key is locked").waitFor();
    assert.equal(await page.getByRole("button", { name: "Export the key" }).count(), 0);
    const after = await page.evaluate(stored);
    assert.ok(!after.text.includes(key));
    assert.deepEqual(after.keys, [ed25519]);

    await other.getByRole("button", { name: "Export the key" }).click();
    await other.getByText("The key can no longer be shown").waitFor();
    await other.getByRole("link", { name: "Chat" }).click();
    await say(other, "from the other tab");
    await answered(other, "You said: from the other tab");

    await page.reload();
    await page.getByText("The key is locked").waitFor();
    await page.getByText(did).first().waitFor();
    await page.getByRole("link", { name: "Files" }).click();
    await page.getByRole("heading", { name: "Files" }).waitFor();
    await page.getByRole("link", { name: "Chat" }).click();
    await say(page, "after the reload");
    await answered(page, "You said: after the reload");

    await page.getByRole("link", { name: "About" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Make a key and enter" }).waitFor();
    assert.deepEqual((await page.evaluate(stored)).keys, []);
    await other.reload();
    await other.getByRole("button", { name: "Make a key and enter" }).waitFor();
    await other.close();

    await page.getByText("I have a key").click();
    await page.getByLabel("Your key: its text, or its 24 words").fill(key);
    await page.getByRole("button", { name: "Enter with this key" }).click();
    assert.equal(await whoami(page), did);
    await page.getByText("The key is locked").waitFor();
    assert.deepEqual((await page.evaluate(stored)).keys, [ed25519]);
    await close();
  });

  test("who wants no copy locks the key without one", async () => {
    const { page, close } = await newcomer();
    const did = await whoami(page);
    await page.getByRole("button", { name: "Lock without a copy" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Lock without a copy" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Lock the key" }).click();
    await page.getByText("The key is locked").waitFor();
    assert.deepEqual((await page.evaluate(stored)).keys, [ed25519]);
    assert.equal(await whoami(page), did);
    await close();
  });

  test("a key that an older console stored readable is wrapped, and stays the same", async () => {
    const first = await newcomer();
    const did = await whoami(first.page);
    const key = await exported(first.page);
    await first.close();
    const { page, visit, close } = await stranger();
    await visit("");
    await page.getByRole("button", { name: "Make a key and enter" }).waitFor();
    await page.evaluate(put, key);
    await page.reload();
    assert.equal(await whoami(page), did);
    assert.ok(!(await page.evaluate(stored)).text.includes(key));
    assert.equal(await exported(page), key);
    await close();
  });

  test("where the browser cannot lock keys, the page says so and works", async () => {
    const browser = await startBrowser(["--host-resolver-rules=MAP spring.example 127.0.0.1"]);
    try {
      const insecure = { browser, url: world.url.replace("127.0.0.1", "spring.example") };
      const { page, close } = await visitors(insecure).newcomer();
      assert.equal(await page.evaluate(() => isSecureContext), false);
      await page.getByRole("link", { name: "About" }).click();
      await page.getByText("This browser cannot lock keys here").waitFor();
      const key = await exported(page);
      assert.ok((await page.evaluate(stored)).text.includes(key));
      assert.equal(await page.getByRole("button", { name: /lock/i }).count(), 0);
      await page.getByRole("link", { name: "Chat" }).click();
      await say(page, "in the open");
      await answered(page, "You said: in the open");
      await close();
    } finally {
      await browser.close();
    }
  });

  for (const colorScheme of ["light", "dark"]) {
    test(`the ways to keep a key fit a small window, ${colorScheme}`, async () => {
      const { page, close } = await newcomer({
        colorScheme,
        viewport: { width: 360, height: 740 },
        reducedMotion: "reduce",
      });
      await whoami(page);
      await exported(page);
      await check(page, `an exported key in ${colorScheme}`);
      await page.getByRole("button", { name: "I saved it, lock the key" }).click();
      await page.getByText("The key is locked").waitFor();
      await check(page, `a locked key in ${colorScheme}`);
      await close();
    });
  }
}
