// Files of one name that meet, acts that are broken off, and answers that come late.
import assert from "node:assert/strict";
import { test } from "node:test";
import { check, visitors } from "./visitor.mjs";
import { eventually } from "./world.mjs";

/** Drops files on something: names and contents, in as many pieces as have a name of their own. */
const drop = (page, on, ...pieces) =>
  page.evaluate(
    ([on, entries]) => {
      const transfer = new DataTransfer();
      for (const [name, content] of entries) transfer.items.add(new File([content], name, { type: "text/plain" }));
      for (const type of ["dragover", "drop"]) {
        const event = new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: transfer });
        document.querySelector(on).dispatchEvent(event);
      }
    },
    [on, pieces.flatMap(Object.entries)],
  );

export function meetingTests(world) {
  const { newcomer } = visitors(world);
  const row = (page, name) => page.getByRole("row", { name, exact: true });
  const names = (page) => page.locator(".file-rows .called").allTextContents();
  const has = (page, ...want) =>
    eventually(`the folder has ${want}`, async () => JSON.stringify(await names(page)) === JSON.stringify(want));
  const focused = (page, name) =>
    eventually(`the focus is on ${name}`, () =>
      page.evaluate((name) => document.activeElement.getAttribute("aria-label") === name, name),
    );
  const hear = (page, words) => page.getByRole("status").getByText(words).waitFor();

  /** Somebody with files at these paths, whose folder is open. */
  async function withPaths(...paths) {
    const who = await newcomer();
    const { page } = who;
    await page.getByRole("link", { name: "Files" }).click();
    await page.getByText("No files yet.").waitFor();
    const sent = page.waitForRequest("**/api/fs/tree?*");
    await page.reload();
    const token = (await sent).headers().authorization;
    await page.getByText("No files yet.").waitFor();
    const ask = (method, path, body, type = "text/plain") =>
      fetch(`${world.url}/api/fs${path}`, { method, body, headers: { Authorization: token, "Content-Type": type } });
    who.put = async (path, content = `${path}\n`) => {
      const reply = await ask("POST", `/files?path=${encodeURIComponent(path)}`, content);
      assert.equal(reply.status, 201, await reply.text());
    };
    who.send = (path, body) => ask("POST", path, JSON.stringify(body), "application/json");
    who.paths = async () => {
      const { files } = await (await ask("GET", "/files?limit=200")).json();
      return files.map((f) => f.path).sort();
    };
    for (const path of paths) await who.put(path);
    await who.visit("files");
    if (paths.length > 0) await page.locator(".file-rows .called").first().waitFor();
    return who;
  }

  test("folders of one name are asked about before they meet, and what was done is taken back", async () => {
    const who = await withPaths("/Box/new.txt", "/Store/Box/old.txt", "/Store/Box/deep/older.txt");
    const { page } = who;
    const move = async (answer) => {
      await row(page, "Box, folder").focus();
      await page.keyboard.press("Control+x");
      await page.getByRole("button", { name: "Store", exact: true }).click();
      await row(page, "Box, folder").waitFor();
      await page.getByRole("button", { name: /^Paste 1 entry/ }).click();
      const asked = page.getByRole("dialog", { name: "This name is taken" });
      await asked.waitFor();
      await asked.getByRole("button", { name: answer, exact: true }).click();
      await asked.waitFor({ state: "detached" });
    };
    const before = await who.paths();
    await move("Skip");
    await hear(page, "1 was left.");
    assert.deepEqual(await who.paths(), before);
    await page.getByRole("link", { name: "All files" }).click();
    await move("Replace");
    await hear(page, "Box moved to Store.");
    assert.deepEqual(await who.paths(), ["/Store/Box/new.txt"]);
    await page.getByRole("button", { name: "Undo" }).click();
    await eventually("all is as it was", async () => JSON.stringify(await who.paths()) === JSON.stringify(before));
    await page.getByRole("link", { name: "All files" }).click();
    await move("Keep both");
    await hear(page, "Box moved to Store.");
    assert.deepEqual(await who.paths(), ["/Store/Box (2)/new.txt", "/Store/Box/deep/older.txt", "/Store/Box/old.txt"]);
    await page.getByRole("button", { name: "Undo" }).click();
    await eventually("all is as it was", async () => JSON.stringify(await who.paths()) === JSON.stringify(before));
    // A new name that a folder has is no way to put two together either.
    await page.getByRole("link", { name: "All files" }).click();
    await row(page, "Box, folder").focus();
    await page.keyboard.press("F2");
    await page.getByLabel("New name of Box").fill("Store");
    await page.keyboard.press("Enter");
    await hear(page, "Box keeps its name: Store is there already.");
    assert.deepEqual(await who.paths(), before);
    await focused(page, "Box, folder");
    await who.close(["409"]);
  });

  test("an empty folder that comes back brings nothing along that was in the trash before", async () => {
    const who = await withPaths("/Box/gone.txt", "/stays.txt");
    const { page } = who;
    await page.getByRole("button", { name: "Box", exact: true }).click();
    await page.getByRole("button", { name: "Move gone.txt to the trash" }).click();
    await hear(page, "gone.txt moved to the trash.");
    await who.send("/folders", { path: "/Box" });
    await page.getByRole("link", { name: "All files" }).click();
    await row(page, "Box, folder").focus();
    await page.keyboard.press("Delete");
    await hear(page, "Box moved to the trash.");
    await has(page, "stays.txt");
    await page.keyboard.press("Control+z");
    await has(page, "Box", "stays.txt");
    assert.deepEqual(await who.paths(), ["/stays.txt"]);
    await who.close();
  });

  test("a move that is broken off says what was moved and what was not", async () => {
    const files = Array.from({ length: 12 }, (_, i) => `/f${String(i).padStart(2, "0")}.txt`);
    const who = await withPaths("/Box/there.txt", ...files);
    const { page } = who;
    let moves = 0;
    await page.route("**/api/fs/move", (route) => (++moves > 3 ? route.abort("connectionreset") : route.continue()));
    await page.getByRole("checkbox", { name: /^Choose all/ }).check();
    await row(page, "Box, folder").getByRole("checkbox").uncheck();
    await page.keyboard.press("Control+x");
    await page.getByRole("button", { name: "Box", exact: true }).click();
    await row(page, "there.txt").waitFor();
    await page.getByRole("button", { name: /^Paste 12 entries/ }).click();
    await hear(page, "3 entries moved to Box.");
    await hear(page, /No answer came for .*: look whether it was moved\. \d+ entries stayed: the server does not answer\./);
    assert.ok(moves < 9, `${moves} were tried`);
    assert.equal((await who.paths()).filter((p) => p.startsWith("/Box/f")).length, 3);
    await page.unroute("**/api/fs/move");
    await page.getByRole("button", { name: "Undo" }).click();
    await eventually("three are back", async () => (await who.paths()).filter((p) => p.startsWith("/f")).length === 12);
    await who.close(["ERR_CONNECTION_RESET"]);
  });

  test("what is refused is said also to who has left the folder, and who leaves the page is asked", async () => {
    const who = await withPaths("/Box/there.txt", "/a.txt", "/b.txt");
    const { page } = who;
    let letGo;
    const held = new Promise((done) => (letGo = done));
    await page.route("**/api/fs/batch/delete", async (route) => {
      const { ids } = route.request().postDataJSON();
      await held;
      const results = ids.map((id, i) => ({ id, ok: i > 0, status: i > 0 ? 200 : 409, error: "changed meanwhile" }));
      await route.fulfill({ json: { results } });
    });
    await page.getByRole("checkbox", { name: "Choose a.txt" }).check();
    await page.getByRole("checkbox", { name: "Choose b.txt" }).check();
    await page.keyboard.press("Delete");
    await page.keyboard.press("Delete"); // once more does nothing more
    const dialog = page.waitForEvent("dialog");
    const going = page.evaluate(() => setTimeout(() => location.reload()));
    const asked = await dialog;
    assert.equal(asked.type(), "beforeunload");
    await asked.dismiss();
    await going;
    await page.getByRole("button", { name: "Box", exact: true }).click();
    await row(page, "there.txt").waitFor();
    letGo();
    await hear(page, "b.txt moved to the trash.");
    await hear(page, "a.txt could not be moved to the trash: changed meanwhile.");
    await who.close();
  });

  test("two clicks on a name open it once, and the last of two that are opened is shown", async () => {
    const who = await withPaths("/Box/inner/a.txt", "/Box/b.txt", "/one.txt", "/two.txt");
    const { page } = who;
    await page.getByRole("button", { name: "Box", exact: true }).dblclick();
    await has(page, "inner", "b.txt");
    await page.getByRole("link", { name: "All files" }).click();
    await page.getByRole("button", { name: "one.txt", exact: true }).dblclick();
    await page.getByRole("dialog", { name: "one.txt" }).waitFor();
    await page.keyboard.press("Escape");
    // Found by their names: the answer for the first comes last.
    let letGo;
    const held = new Promise((done) => (letGo = done));
    await page.route("**/api/fs/stat?path=%2Fone.txt", async (route) => {
      await held;
      await route.continue();
    });
    await page.getByLabel("Search in your files").fill("txt");
    const hits = page.getByRole("region", { name: "Search results" });
    await hits.getByRole("button", { name: "one.txt" }).first().click();
    await hits.getByRole("button", { name: "two.txt" }).first().click();
    await page.getByRole("dialog", { name: "two.txt" }).waitFor();
    const late = page.waitForResponse("**/api/fs/stat?path=%2Fone.txt");
    letGo();
    await late;
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    assert.equal(await page.getByRole("dialog", { name: "one.txt" }).count(), 0);
    await page.keyboard.press("Escape");
    // Files that are dropped are shown where they go, and the search does not come back.
    await drop(page, "main", { "dropped.txt": "x" });
    await row(page, "dropped.txt").waitFor();
    assert.equal(await page.getByLabel("Search in your files").inputValue(), "");
    await who.close();
  });

  test("the focus stays in the folder when what had it goes away", async () => {
    const who = await withPaths("/Box/there.txt", "/a.txt", "/b.txt", "/c.txt");
    const { page } = who;
    await row(page, "a.txt").focus();
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "Trash", exact: true }).focus();
    await page.keyboard.press("Enter");
    await has(page, "Box", "b.txt", "c.txt");
    await focused(page, "b.txt");
    // From the focus on, though nothing is chosen yet.
    await page.keyboard.press("Shift+ArrowDown");
    await page.getByText("2 files chosen").waitFor();
    await page.getByRole("button", { name: "Move", exact: true }).focus();
    await page.keyboard.press("Enter");
    const chooser = page.getByRole("dialog", { name: "Move 2 entries" });
    await chooser.getByRole("button", { name: "Box", exact: true }).click();
    await chooser.getByRole("button", { name: "Move to Box" }).click();
    await has(page, "Box");
    await focused(page, "Box, folder");
    await page.keyboard.press("Control+z");
    await has(page, "Box", "b.txt", "c.txt");
    // The box that chooses all is one that keys reach.
    await page.getByRole("checkbox", { name: /^Choose all/ }).focus();
    await page.keyboard.press("Space");
    await page.getByText("3 entries chosen").waitFor();
    await page.getByRole("button", { name: "Clear", exact: true }).focus();
    await page.keyboard.press("Enter");
    await eventually("the focus is in the list", () => page.evaluate(() => document.activeElement.matches("[role=row]")));
    await check(page, "a folder after all that");
    // A folder made from here is where one goes on.
    await page.getByRole("button", { name: "New folder" }).click();
    await page.getByLabel("Name of the new folder").fill("100% #1? ‘quoted’");
    await page.keyboard.press("Enter");
    await focused(page, "Files in /100% #1? ‘quoted’");
    await page.reload();
    await page.getByText("This folder is empty.").waitFor();
    await page.getByRole("link", { name: "100% #1? ‘quoted’" }).waitFor();
    await who.close();
  });

  test("a name that is given back by the trash goes beside one that is taken", async () => {
    const who = await withPaths("/a.txt");
    const { page } = who;
    await page.getByRole("button", { name: "Move a.txt to the trash" }).click();
    await page.getByText("No files yet.").waitFor();
    await who.put("/a.txt", "another\n");
    await page.getByRole("tab", { name: "Trash" }).click();
    await page.getByRole("button", { name: "Restore a.txt" }).click();
    await hear(page, "a.txt is back as a (2).txt: its name is taken.");
    assert.deepEqual(await who.paths(), ["/a (2).txt", "/a.txt"]);
    await who.close(["409"]);
  });

  test("files of one name, empty ones and a drop on a folder all arrive", async () => {
    const who = await withPaths("/Box/there.txt");
    const { page } = who;
    await drop(page, "main", { "same.txt": "one\n", "empty.txt": "" }, { "same.txt": "two\n" });
    const asked = page.getByRole("dialog", { name: "This name is taken" });
    await asked.getByRole("button", { name: "Keep both" }).click();
    await hear(page, "3 files stored.");
    await has(page, "Box", "empty.txt", "same (2).txt", "same.txt");
    await drop(page, ".file-rows [aria-label='Box, folder']", { "dropped.txt": "x" });
    await hear(page, "1 file stored.");
    assert.equal(await page.locator(".drop-here").count(), 0, "the sign for a drop is gone");
    assert.ok((await who.paths()).includes("/Box/dropped.txt"));
    await who.close(["409"]);
  });

  test("a file of nothing but ends of lines is looked into", async () => {
    const who = await withPaths("/a.txt");
    const { page } = who;
    await who.put("/lines.txt", "\n".repeat(300_000));
    await page.reload();
    await page.getByRole("button", { name: "lines.txt", exact: true }).click();
    await page.getByText("These are the first lines.").waitFor();
    assert.equal(await page.locator(".preview li").count(), 5000);
    await who.close();
  });
}
