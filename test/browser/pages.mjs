// The other pages: key, telephone, query, operator, keyboard.
import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { check, copied, looksRight, visitors } from "./visitor.mjs";
import { eventually } from "./world.mjs";

export function pageTests(world) {
  const { newcomer, stranger } = visitors(world);

  /** The operator comes from the machine itself, or with the token. */
  async function operator(page) {
    const health = page.getByText("What it needs");
    const token = page.getByLabel("Operator token");
    await health.or(token).first().waitFor();
    if (world.operatorToken) {
      await token.fill("nearly");
      await page.getByRole("button", { name: "Enter" }).click();
      await page.getByText("token isn't valid").waitFor();
      await token.fill(world.operatorToken);
      await page.getByRole("button", { name: "Enter" }).click();
    }
    await health.waitFor();
  }
  const refusals = world.operatorToken ? ["401"] : [];

  test("all pages can be seen in the bar of every window that is not a telephone's", async () => {
    const { page, visit, close } = await newcomer();
    for (const width of [761, 900, 1100, 1241, 1920]) {
      await page.setViewportSize({ width, height: 800 });
      await visit("about");
      const nav = page.getByRole("navigation", { name: "Pages" });
      await nav.waitFor();
      const hidden = await nav.evaluate((bar) => bar.scrollWidth - bar.clientWidth);
      assert.ok(hidden <= 0, `${hidden} pixels of the pages are out of sight at ${width}`);
      await check(page, `the bar at ${width}`);
    }
    await close();
  });

  test("an address that leads nowhere says so, in the chat and among the operator's pages too", async () => {
    const { page, visit, close } = await newcomer();
    await visit("nowhere");
    await page.getByRole("heading", { level: 1, name: "There is no such page" }).waitFor();
    await check(page, "no such page");
    await page.getByRole("link", { name: "Go to Chat" }).click();
    await page.getByLabel("Your first message").waitFor();

    await visit("chat/never-was");
    await page.getByRole("alert").getByText("This conversation is not there any more.").waitFor();
    assert.equal(await page.getByLabel("Your message").count(), 0, "it asks for a message");
    assert.equal(await page.getByText("Connecting").count(), 0, "it connects for ever");
    await page.getByRole("link", { name: "New conversation" }).click();
    await page.getByLabel("Your message").waitFor();

    await visit("operator");
    await operator(page);
    const tabs = page.getByRole("navigation", { name: "Operator" });
    for (const width of [761, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      const hidden = await tabs.evaluate((bar) => bar.scrollWidth - bar.clientWidth);
      assert.ok(hidden <= 0, `${hidden} pixels of the operator's pages are out of sight at ${width}`);
      await check(page, `the operator's pages at ${width}`);
    }
    await page.goto(`${world.url}/console/operator/nowhere`);
    await page.getByRole("heading", { level: 2, name: "There is no such page" }).waitFor();
    await check(page, "no such page of the operator");
    await page.getByRole("link", { name: "Go to Health" }).click();
    await page.getByText("What it needs").waitFor();
    await close([...refusals, "404"]);
  });

  test("a key makes somebody, stays after a reload, and moves to another browser", async () => {
    const { page, close } = await newcomer();
    await page.getByRole("link", { name: "About" }).click();
    const did = (
      await page
        .getByText(/^did:key:z6Mk/)
        .first()
        .textContent()
    )
      .trim()
      .split(/\s/)[0];
    await page.getByText("ok, database connected").waitFor();
    await page.reload();
    await page.getByText(did).first().waitFor();
    await page.getByRole("button", { name: "Export the key" }).click();
    const key = (await page.locator(".notice pre").textContent()).trim();
    const elsewhere = await stranger();
    await elsewhere.visit("");
    await elsewhere.page.getByText("I have a key").click();
    await elsewhere.page.getByLabel("Your key: its text, or its 24 words").fill(key);
    await elsewhere.page.getByRole("button", { name: "Enter with this key" }).click();
    await elsewhere.page.getByRole("link", { name: "About" }).click();
    await elsewhere.page.getByText(did).first().waitFor();
    await elsewhere.close();

    // The file that is saved opens the console too, and the text that the command line writes.
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save it as a file" }).click(),
    ]);
    assert.equal((await readFile(await file.path(), "utf8")).trim(), key);
    const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.from(key, "hex")]);
    const jwk = createPublicKey(createPrivateKey({ key: der, format: "der", type: "pkcs8" })).export({ format: "jwk" });
    const parts = [Buffer.from([0x80, 0x26]), Buffer.from(key, "hex"), Buffer.from([0xed, 0x01]), Buffer.from(jwk.x, "base64url")];
    for (const text of [`${key}\n`, `M${Buffer.concat(parts).toString("base64")}\n`]) {
      const other = await stranger();
      await other.visit("");
      await other.page.getByText("I have a key").click();
      const named = { name: "castalia.key", mimeType: "text/plain", buffer: Buffer.from(text) };
      await other.page.getByLabel("Open its file").setInputFiles(named);
      await other.page.getByRole("link", { name: "About" }).click();
      await other.page.getByText(did).first().waitFor();
      await other.close();
    }
    await close();
  });

  test("the keyboard is enough", async () => {
    const { page, close } = await newcomer();
    await page.reload();
    await page.getByRole("heading", { name: /^Ask/ }).waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to content");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.type("gf");
    await page.getByRole("heading", { name: "Files" }).waitFor();
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.type), "search");
    await page.keyboard.press("?");
    assert.equal(await page.getByRole("dialog").count(), 0);
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("n");
    await page.getByLabel("Your message").waitFor();
    await close();
  });

  test("the telephone dials by click and by type, and counts", async () => {
    const { page, close } = await newcomer();
    await page.getByRole("link", { name: "Phone" }).click();
    await page.getByRole("button", { name: "Dial *2233#" }).click();
    await page.getByText("1. Know More").waitFor();
    await page.getByRole("button", { name: "1", exact: true }).click();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("2. Pricing").waitFor();
    await page.getByLabel("Your reply").fill("2");
    await page.keyboard.press("Enter");
    await page.getByText("1 › 2").waitFor();
    await page.getByText(/^\d+ of 160$/).waitFor();
    await page.getByLabel("Your reply").fill("*");
    await page.keyboard.press("Enter");
    await page.getByText("ended", { exact: true }).waitFor();
    await close();
  });

  test("a protocol query is filled in, answered, and told as a curl line", async () => {
    const { page, close } = await newcomer();
    await page.getByRole("link", { name: "Query" }).click();
    await page.getByLabel("Find a route").fill("token params");
    await page.getByRole("option", { name: /token\/params/ }).click();
    await page.getByRole("button", { name: "Ask" }).click();
    await page.getByText("ixo1155_contract_code").waitFor();
    await page.getByRole("button", { name: "Copy the curl line" }).click();
    const curl = await copied(page);
    assert.match(curl, /^curl -s '?http.*\/token\/params/);
    await close();
  });

  test("the operator sees sessions, steps, the menu, nodes, plugins and health", async () => {
    const { page, visit, close } = await newcomer();
    const call = (id, text) =>
      fetch(`${world.url}/api/ussd`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({
          sessionId: id,
          serviceCode: "*2233#",
          phoneNumber: "+254700111222",
          text,
        }),
      });
    await visit("operator");
    await operator(page);
    await call("watched", "");
    await call("watched", "1");
    const tabs = page.getByRole("navigation", { name: "Operator" });
    await tabs.getByRole("link", { name: "Sessions" }).click();
    await page
      .getByRole("link", { name: /^\+2547•+22$/ })
      .first()
      .click();
    await page.getByText("infoMenu").last().waitFor();
    await page.getByLabel("What the caller sees").getByText("2. Pricing").waitFor();
    assert.equal(await page.getByText("254700111222").count(), 0);
    await tabs.getByRole("link", { name: "Menu" }).click();
    await page.getByRole("button", { name: /^infoMenu menu/ }).click();
    await page.getByRole("heading", { name: /^infoMenu/ }).waitFor();
    await page.getByText("Where callers go, and where they leave").waitFor();
    await tabs.getByRole("link", { name: "Accounts" }).click();
    await page.getByLabel("Account ID").fill("CNOBODY00");
    await page.getByRole("button", { name: "Unlock", exact: true }).click();
    await page.getByText("Account not found").waitFor();
    await tabs.getByRole("link", { name: "Query nodes" }).click();
    await page.getByText("in step").first().waitFor();
    await tabs.getByRole("link", { name: "Plugins" }).click();
    const memory = page.getByRole("listitem").filter({ hasText: "memory" });
    await memory.getByText("on", { exact: true }).waitFor();
    await close([...refusals, "404"]);
  });

  test("the operator finds settings by the keyboard, with where they come from, and the guides", async () => {
    const { page, visit, close } = await newcomer();
    await visit("operator");
    await operator(page);
    await page
      .getByRole("navigation", { name: "Operator" })
      .getByRole("link", { name: "Settings" })
      .click();
    const row = (name) => page.locator(".settings > div").filter({ has: page.getByText(name, { exact: true }) });
    await row("PORT").getByText("from the environment").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("FILES_QUOTA");
    await page.getByText("Look at all settings.").waitFor();
    await page.getByLabel("Only what was set").focus();
    await page.keyboard.press("Space");
    await row("FILES_QUOTA").getByText("not set").waitFor();
    await page.getByLabel("Find a setting").fill("room for files");
    await row("FILES_QUOTA").getByText("Room for files, by person").waitFor();
    await page.getByLabel("Find a setting").fill("NAMES FOR HTTPS");
    await row("HTTPS_DOMAINS").getByText("operators change it as the server runs: Address and HTTPS.").waitFor();
    await page.getByLabel("Find a setting").fill("OPENAI_API_KEY");
    await page.getByText("OPENAI_API_KEY", { exact: true }).waitFor();
    await visit("operator/settings?language=fr");
    await page.getByText("Adresse de ce nœud").waitFor();
    await looksRight(page, "operator-settings");
    await visit("operator/retention?language=sw");
    await page.getByText("Jinsi majibu yalivyopatikana").waitFor();
    await visit("about?language=en");
    const guides = await page.getByRole("link", { name: "Guides" }).getAttribute("href");
    assert.match(await (await page.request.get(world.url + guides)).text(), /<h1/);
    await close(refusals);
  });

  test("the operator reads the log of the last hour, and finds lines in it", async () => {
    const { page, visit, close } = await newcomer();
    await visit("operator");
    await operator(page);
    await page
      .getByRole("navigation", { name: "Operator" })
      .getByRole("link", { name: "Logs" })
      .click();
    const lines = page.getByRole("list", { name: "Log" }).getByRole("listitem");
    await lines.first().waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("no line has this");
    await page.getByText("Nothing like that was logged").waitFor();
    await page.getByLabel("A part of the line").fill("");
    const said = (await lines.last().locator("div").innerText()).split("\n")[0];
    await page.getByLabel("A part of the line").fill(said);
    await eventually(`all lines have "${said}"`, async () => {
      const found = await lines.allInnerTexts();
      return found.length > 0 && found.every((line) => line.includes(said));
    });
    await close(refusals);
  });

  test("the operator unlocks a telephone that guessed PINs", async () => {
    const { page, visit, close } = await newcomer();
    let session = 0;
    const guess = async () => {
      const id = `guess-${++session}-${world.url.length}`;
      let said = "";
      for (const text of ["", "2", "2*1", "2*1*C00000000", "2*1*C00000000*48293"]) {
        const reply = await fetch(`${world.url}/api/ussd`, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({
            sessionId: id,
            serviceCode: "*2233#",
            phoneNumber: "+254733333377",
            text,
          }),
        });
        said = await reply.text();
      }
      return said;
    };
    for (let i = 0; i < 5; i++) await guess();
    assert.match(await guess(), /^END Too many wrong PINs/);
    await visit("operator");
    await operator(page);
    await page
      .getByRole("navigation", { name: "Operator" })
      .getByRole("link", { name: "Accounts" })
      .click();
    const locks = page.getByRole("region", { name: "Locked accounts and telephones" });
    await locks.getByText("5 wrong PINs by this telephone").waitFor();
    assert.equal(await page.getByText("254733333377").count(), 0);
    const [asked] = await Promise.all([
      page.waitForResponse((r) => r.url().endsWith("/operator/ussd/telephones/unlock")),
      page.getByRole("button", { name: /^Unlock \+2547•+77$/ }).click(),
    ]);
    assert.equal(asked.status(), 200);
    await page
      .getByRole("status")
      .getByText(/^\+2547•+77 can try again/)
      .waitFor();
    await locks.getByText("Nothing is locked.").waitFor();
    assert.match(await guess(), /^CON Wrong account or PIN/);
    await close(refusals);
  });

  test("the operator finds who changed what in the audit trail, and takes it along", async () => {
    const { page, visit, close } = await newcomer();
    await visit("operator");
    await operator(page);
    const tabs = page.getByRole("navigation", { name: "Operator" });
    await tabs.getByRole("link", { name: "Accounts" }).click();
    await page.getByLabel("Account ID").fill("CNOBODY01");
    await page.getByRole("button", { name: "Unlock", exact: true }).click();
    await page.getByText("Account not found").waitFor();
    await tabs.getByRole("link", { name: "Audit trail" }).click();
    const acts = page.getByRole("list", { name: "Audit trail" }).getByRole("listitem");
    const mine = acts.filter({ hasText: "CNOBODY01" }).first();
    await mine.getByText("not accepted").waitFor();
    const act = (await mine.locator(".mono").first().innerText()).trim();
    await page.getByLabel("Which acts").selectOption("act");
    await page.getByLabel("What").fill("POST /nothing");
    await page.getByText("No operator changed anything of that kind.").waitFor();
    await page.getByLabel("What").fill(act);
    await eventually("all acts are of one kind", async () => {
      const found = await acts.allInnerTexts();
      return found.length > 0 && found.every((text) => text.includes(act));
    });
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export as CSV" }).click(),
    ]);
    const rows = (await readFile(await file.path(), "utf8")).trim().split("\n");
    assert.ok(rows[0].startsWith("id,at,actor"), rows[0]);
    assert.ok(rows.length > 1 && rows.slice(1).every((row) => row.includes(act)), rows.join("\n"));
    await page.getByLabel("From").fill("2100-01-01T00:00");
    await page.getByText("No operator changed anything of that kind.").waitFor();
    await close([...refusals, "404"]);
  });

  test("the operator sees what is wrong, and what was seen before stays", async () => {
    const { page, visit, close } = await newcomer();
    await visit("operator");
    await operator(page);
    const parts = page.getByRole("list", { name: "Parts" }).getByRole("listitem");
    await parts.filter({ hasText: "database" }).locator(".dot.good").waitFor();
    await page.route(`${world.url}/operator/health`, async (route) => {
      const body = await (await route.fetch()).json();
      const causes = [{ text: "main is unreachable", since: "2026-11-17T10:02:00Z" }];
      const chain = { name: "query", ok: false, needed: false, causes };
      await route.fulfill({
        json: { ok: false, parts: [...body.parts.filter((p) => p.name !== "query"), chain] },
      });
    });
    await page.getByText("1 part in trouble").waitFor();
    await parts.first().getByText("main is unreachable").waitFor();
    await parts
      .first()
      .getByText(/^since /)
      .waitFor();
    await page.unroute(`${world.url}/operator/health`);
    await page.route(`${world.url}/health`, async (route) => {
      const body = await (await route.fetch()).json();
      await route.fulfill({
        status: 503,
        json: { ...body, status: "degraded", database: "disconnected" },
      });
    });
    await page.route("**/ready", (route) =>
      route.fulfill({
        status: 503,
        json: { ready: false, checks: { database: "connection refused" } },
      }),
    );
    await page.getByText("disconnected").waitFor();
    await page.getByText("not ready").waitFor();
    await parts.filter({ hasText: "database" }).locator(".dot.bad").waitFor();
    await page.getByText("connection refused").waitFor();
    await page.route(`${world.url}/operator/health`, (route) =>
      route.fulfill({ status: 503, json: { message: "It rests." } }),
    );
    await page.getByRole("alert").getByText("It rests.").waitFor();
    assert.equal(await page.locator(".good").count(), 0, "something is green under an error");
    await page
      .getByRole("navigation", { name: "Operator" })
      .getByRole("link", { name: "Query nodes" })
      .click();
    await page.getByText("in step").first().waitFor();
    await page.route("**/query/status", (route) =>
      route.fulfill({ status: 503, json: { message: "The gateway rests." } }),
    );
    await page.getByRole("alert").getByText("The gateway rests.").waitFor();
    assert.ok(await page.getByText("in step").first().isVisible());
    await close([...refusals, "503"]);
  });
}
