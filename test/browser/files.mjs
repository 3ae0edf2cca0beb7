// Files: upload, look, versions, trash, search, share.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { check, copied, visitors } from "./visitor.mjs";
import { eventually } from "./world.mjs";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const text = (name, content) => ({ name, mimeType: "text/plain", buffer: Buffer.from(content) });

async function upload(page, ...files) {
  await page.getByLabel("Files to upload").setInputFiles(files);
  for (const { name } of files) await page.getByRole("button", { name, exact: true }).waitFor();
}

/** Stores a newer version of a file that is there. */
async function renew(page, file) {
  await page.getByLabel("Files to upload").setInputFiles(file);
  await page.getByRole("button", { name: "Replace" }).click();
  await page.getByRole("gridcell", { name: /, v2$/ }).waitFor();
}

async function close(page) {
  await page.getByRole("button", { name: "Close" }).click();
}

export function fileTests(world) {
  const { newcomer, stranger } = visitors(world);

  async function withFiles() {
    const who = await newcomer();
    await who.page.getByRole("link", { name: "Files" }).click();
    await who.page.getByText("No files yet.").waitFor();
    return who;
  }

  test("files are previewed, get versions, and go back to one", async () => {
    const { page, close: leave } = await withFiles();
    await upload(page, text("spring.txt", "first\n"), { name: "dot.png", mimeType: "image/png", buffer: png });
    await page.getByRole("button", { name: "dot.png", exact: true }).click();
    await page.getByRole("img", { name: "Preview of dot.png" }).waitFor();
    await close(page);
    await renew(page, text("spring.txt", "second\n"));
    await page.getByRole("button", { name: "spring.txt", exact: true }).click();
    const preview = page.getByRole("region", { name: "Preview of spring.txt" });
    await preview.getByText("second").waitFor();
    await page.getByRole("button", { name: /^Version 1/ }).click();
    await preview.getByText("first").waitFor();
    await page.getByRole("button", { name: "Restore version 1" }).click();
    await page.getByRole("button", { name: /^Version 3/ }).waitFor();
    await preview.getByText("first").waitFor();
    await page.getByRole("button", { name: "Copy the CID", exact: true }).click();
    assert.match(await copied(page), /^baf/);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download" }).click(),
    ]);
    assert.equal(readFileSync(await download.path(), "utf8"), "first\n");
    await leave(["409"]);
  });

  test("files are dropped with their folder, thrown away and brought back", async () => {
    const { page, close: leave } = await withFiles();
    await page.evaluate(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["dropped\n"], "dropped.txt", { type: "text/plain" }));
      // Beside the page's own column: anywhere in the window is good.
      const target = document.querySelector("main");
      for (const type of ["dragover", "drop"]) {
        target.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: transfer }));
      }
    });
    await page.getByRole("button", { name: "dropped.txt", exact: true }).waitFor();
    await page.getByRole("button", { name: "New folder" }).click();
    await page.getByLabel("Name of the new folder").fill("Reports");
    await page.keyboard.press("Enter");
    await page.getByText("This folder is empty.").waitFor();
    await page.reload();
    await page.getByText("This folder is empty.").waitFor();
    await page.getByRole("link", { name: "All files" }).click();
    await page.getByRole("button", { name: "Reports", exact: true }).click();
    await page.getByText("This folder is empty.").waitFor();
    await upload(page, text("may.txt", "May\n"));
    await page.getByRole("link", { name: "All files" }).click();
    await page.getByRole("button", { name: "Reports", exact: true }).click();
    await page.getByRole("button", { name: "Move may.txt to the trash" }).click();
    await page.getByText("This folder is empty.").waitFor();
    await page.getByText("may.txt moved to the trash.").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByRole("button", { name: "may.txt", exact: true }).waitFor();
    await page.getByText("may.txt moved to the trash.").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Move may.txt to the trash" }).click();
    await page.getByText("This folder is empty.").waitFor();
    await page.getByRole("tab", { name: "Trash" }).click();
    assert.equal(await page.getByRole("button", { name: "Undo" }).count(), 0);
    await page.getByRole("button", { name: "Restore may.txt" }).click();
    await page.getByText("The trash is empty.").waitFor();
    await page.getByRole("tab", { name: "Files" }).click();
    await page.getByRole("button", { name: "Move may.txt to the trash" }).click();
    await page.getByRole("tab", { name: "Trash" }).click();
    await page.getByRole("button", { name: "Destroy may.txt" }).click();
    await page.getByRole("dialog").getByText("Reports/may.txt, with every version").waitFor();
    await page.getByRole("button", { name: "Destroy", exact: true }).click();
    await page.getByText("The trash is empty.").waitFor();
    await leave();
  });

  test("an upload whose line breaks goes on where it was", async () => {
    const { page, close: leave } = await withFiles();
    let parts = 0;
    let cut = 0;
    page.on("request", (request) => {
      if (request.method() === "PATCH") parts++;
    });
    await page.route("**/api/fs/upload/*", async (route) => {
      if (route.request().method() !== "PATCH") return route.continue();
      await route.abort("connectionreset");
      if (++cut === 2) await page.unroute("**/api/fs/upload/*");
    });
    const size = 9 * 1024 * 1024;
    await page.getByLabel("Files to upload").setInputFiles({
      name: "large.bin",
      mimeType: "application/octet-stream",
      buffer: Buffer.alloc(size, 7),
    });
    await page.getByRole("progressbar", { name: "Upload of large.bin" }).waitFor();
    await page.getByRole("button", { name: "large.bin", exact: true }).waitFor();
    await page.getByRole("gridcell", { name: "9.0 MiB", exact: true }).waitFor();
    assert.ok(parts >= 4, `there were ${parts} parts`);
    await leave(["ERR_CONNECTION_RESET"]);
  });

  test("an upload can be stopped, and one that was refused can be tried again", async () => {
    const { page, close: leave } = await withFiles();
    let refuse = true;
    await page.route("**/api/fs/upload", async (route) => {
      const asks = Buffer.from(route.request().headers()["upload-metadata"] ?? "").toString();
      const isSecond = asks.includes(Buffer.from("/second.txt").toString("base64"));
      if (!isSecond || !refuse) return route.continue();
      return route.fulfill({ status: 413, json: { message: "The file is too large." } });
    });
    // The first one's bytes never arrive.
    await page.route("**/api/fs/upload/*", (route) =>
      route.request().method() === "PATCH" && refuse ? undefined : route.continue(),
    );
    const chosen = [text("first.txt", "1\n"), text("second.txt", "2\n")];
    const begun = page.waitForRequest((request) => request.method() === "PATCH");
    await page.getByLabel("Files to upload").setInputFiles(chosen);
    await begun;
    await page.getByRole("alert").getByText("The file is too large.").waitFor();
    const [given] = await Promise.all([
      page.waitForRequest((request) => request.method() === "DELETE"),
      page.getByRole("button", { name: "Stop the upload of first.txt" }).click(),
    ]);
    assert.match(given.url(), /\/api\/fs\/upload\//);
    await page.getByRole("progressbar").waitFor({ state: "detached" });
    refuse = false;
    await page.getByRole("button", { name: "Try second.txt again" }).click();
    await page.getByRole("button", { name: "second.txt", exact: true }).waitFor();
    await page.getByRole("region", { name: "Uploads" }).waitFor({ state: "detached" });
    assert.equal(await page.getByRole("button", { name: "first.txt", exact: true }).count(), 0);
    await leave(["413"]);
  });

  test("a folder of any name opens, also after a reload", async () => {
    const { page, close: leave } = await withFiles();
    const name = "100% of v1.0 #2?";
    await page.getByRole("button", { name: "New folder" }).click();
    await page.getByLabel("Name of the new folder").fill(name);
    await page.keyboard.press("Enter");
    await page.getByText("This folder is empty.").waitFor();
    await upload(page, text("a.txt", "a\n"));
    await page.reload();
    await page.getByRole("button", { name: "a.txt", exact: true }).waitFor();
    await page.getByRole("link", { name: "All files" }).click();
    await page.getByRole("button", { name, exact: true }).click();
    await page.getByRole("button", { name: "a.txt", exact: true }).waitFor();
    assert.equal(await page.getByRole("link", { name, exact: true }).getAttribute("aria-current"), "page");
    await leave();
  });

  test("a search says which line of which version", async () => {
    const { page, close: leave } = await withFiles();
    await upload(page, text("minutes.txt", "Opening\nThe bees were counted.\nClosing\n"));
    await eventually("the words are indexed", async () => {
      await page.getByLabel("Search in your files").fill("bees");
      await page.keyboard.press("Enter");
      await page.getByText(/\d hits? for “bees”/).waitFor();
      if (await page.locator("mark", { hasText: "bees" }).isVisible()) return true;
      await page.getByLabel("Search in your files").fill("");
      return false;
    });
    await page.getByText(/lines? \d.*version 1, the newest/).waitFor();
    // Asked again for the same words, it looks again.
    const again = page.waitForResponse(/\/search\?/);
    await page.getByLabel("Search in your files").press("Enter");
    await again;
    await page.getByRole("button", { name: "minutes.txt" }).click();
    await page.getByRole("region", { name: "Preview of minutes.txt" }).waitFor();
    await leave();
  });

  test("a search finds parts of names and words while they are written", async () => {
    const { page, close: leave } = await withFiles();
    await upload(page, text("Minutes of May.txt", "Opening\nThe honeybees were counted.\n"), text("other.txt", "x\n"));
    const box = page.getByLabel("Search in your files");
    const results = page.getByRole("region", { name: "Search results" });
    await box.pressSequentially("min");
    await results.getByText("1 hit for “min”").waitFor();
    await results.getByRole("button", { name: "Minutes of May.txt" }).waitFor();
    assert.equal(await results.getByText("Min", { exact: true }).count(), 1, "what was found is marked");
    await box.fill("");
    await box.pressSequentially("neybe");
    await results.getByText("line 2").waitFor();
    assert.equal(await results.locator("mark").first().textContent(), "neybe");
    await box.fill("");
    await page.getByRole("button", { name: "other.txt", exact: true }).waitFor();
    await leave();
  });

  test("a folder is listed with dates and versions by one request", async () => {
    const { page, close: leave } = await withFiles();
    await upload(page, text("a.txt", "1\n"));
    await renew(page, text("a.txt", "2\n"));
    const asked = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.reload();
    await page.getByRole("gridcell", { name: /, v2$/ }).waitFor();
    assert.deepEqual(asked.filter((path) => path.startsWith("/api/fs/")), ["/api/fs/tree"]);
    await leave(["409"]);
  });

  test("a plain link opens anywhere, says what it means, and ends like the others", async () => {
    const owner = await withFiles();
    const { page } = owner;
    await upload(page, text("open.txt", "for all\n"), text("secret.txt", "for none\n"));
    await page.getByRole("checkbox", { name: "Choose open.txt" }).check();
    await page.getByRole("checkbox", { name: "Choose secret.txt" }).check();
    await page.getByRole("button", { name: "Share", exact: true }).click();
    assert.equal(await page.getByLabel("Anyone, also without this page").count(), 0, "it is for one file");
    await page.keyboard.press("Escape");
    await page.getByRole("checkbox", { name: "Choose secret.txt" }).uncheck();
    await page.getByRole("button", { name: "Share", exact: true }).click();
    await page.getByLabel("Anyone, also without this page").check();
    await page.getByText("The address is the secret.").waitFor();
    await page.getByRole("button", { name: "Make the link" }).click();
    const link = await page.getByLabel("The link", { exact: true }).inputValue();
    assert.match(link, /\/s\/[^/]+\/open\.txt$/);
    await page.keyboard.press("Escape");
    assert.equal(await (await fetch(link)).text(), "for all\n");
    const reader = await stranger();
    await reader.page.goto(link);
    await reader.page.getByText("open.txt").first().waitFor();
    await reader.close();
    await page.getByRole("tab", { name: "Links" }).click();
    await page.getByRole("cell", { name: /^open\.txt.*plain address/ }).waitFor();
    await page.getByRole("button", { name: "End the link to open.txt" }).click();
    await page.getByRole("cell", { name: "ended", exact: true }).waitFor();
    await eventually("the link is over", async () => (await fetch(link)).status === 410);
    await owner.close();
  });

  test("others send files by a link that shows nothing, and its page can be read in the dark", async () => {
    const owner = await withFiles();
    const { page } = owner;
    await upload(page, text("mine.txt", "not for you\n"));
    await page.getByRole("button", { name: "Share this folder" }).click();
    await page.getByLabel("Others send files here").check();
    await page.getByLabel("How many files").selectOption("1");
    await page.getByText("1 file or 1.0 GiB, whichever comes first").waitFor();
    await page.getByRole("button", { name: "Make the link" }).click();
    const link = await page.getByLabel("The link", { exact: true }).inputValue();
    assert.match(link, /\/s\/[^/]+\/$/);
    const code = page.getByRole("img", { name: "QR code of the address" });
    await eventually("the code is drawn", () => code.evaluate((img) => img.complete && img.naturalWidth > 0));
    await check(page, "an upload link");
    await page.keyboard.press("Escape");
    const sender = await stranger({ colorScheme: "dark", viewport: { width: 360, height: 740 } });
    await sender.page.goto(link);
    await sender.page.getByLabel("Files to send").setInputFiles(text("photo.txt", "for you\n"));
    assert.equal(await sender.page.getByText("mine.txt").count(), 0);
    await check(sender.page, "the page of an upload link in dark");
    await sender.page.getByRole("button", { name: "Send", exact: true }).click();
    await sender.page.getByRole("status").getByText("Arrived").waitFor();
    await check(sender.page, "the page after an upload in dark");
    await sender.close();
    await page.reload();
    await page.getByRole("gridcell", { name: /^photo\.txt/ }).waitFor();
    await page.getByRole("tab", { name: "Links" }).click();
    await page.getByRole("cell", { name: /for uploads, 8 B of 1\.0 GiB/ }).waitFor();
    await page.getByRole("cell", { name: "used up", exact: true }).waitFor();
    assert.equal((await fetch(link)).status, 410);
    await owner.close();
  });

  test("a link shows chosen content to a stranger, until it is ended", async () => {
    const owner = await withFiles();
    const { page } = owner;
    await upload(page, text("open.txt", "for you\n"), text("secret.txt", "not for you\n"));
    await page.getByRole("checkbox", { name: "Choose open.txt" }).check();
    await page.getByRole("button", { name: "Share", exact: true }).click();
    await page.getByText("can read exactly this content: open.txt.").waitFor();
    await page.getByRole("button", { name: "Make the link" }).click();
    const link = await page.getByLabel("The link", { exact: true }).inputValue();
    assert.match(link, /\/console\/share#path=.*&key=.*&token=/);
    await page.keyboard.press("Escape");

    const reader = await stranger();
    await reader.page.goto(link);
    await reader.page.getByText("for you", { exact: true }).waitFor();
    assert.equal(await reader.page.getByText("secret.txt").count(), 0);
    const [download] = await Promise.all([
      reader.page.waitForEvent("download"),
      reader.page.getByRole("button", { name: "Download open.txt" }).click(),
    ]);
    assert.equal(readFileSync(await download.path(), "utf8"), "for you\n");

    await page.getByRole("tab", { name: "Links" }).click();
    await page.getByRole("cell", { name: /^[1-9] times?$/ }).waitFor();
    await page.getByRole("button", { name: "End the link to open.txt" }).click();
    await page.getByRole("cell", { name: "ended", exact: true }).waitFor();
    await eventually("the link is over", async () => {
      await reader.page.reload();
      await reader.page.getByText(/This link is over|1 file/).first().waitFor();
      return reader.page.getByText("This link is over").isVisible();
    });
    await reader.close(["403"]);
    await owner.close();
  });

  test("a folder's link also shows what comes later, and a DID's link only to that DID", async () => {
    const owner = await withFiles();
    const { page } = owner;
    await owner.visit("files/Reports");
    await upload(page, text("may.txt", "May\n"));
    await page.getByRole("button", { name: "Share this folder" }).click();
    await page.getByText("also what you put there later").waitFor();
    await page.getByRole("button", { name: "Make the link" }).click();
    const link = await page.getByLabel("The link", { exact: true }).inputValue();
    await page.keyboard.press("Escape");
    await upload(page, text("june.txt", "June\n"));

    const friend = await newcomer();
    await friend.page.goto(link);
    await friend.page.getByText("Reports/june.txt").click();
    await friend.page.getByText("June", { exact: true }).waitFor();
    await friend.visit("about");
    const did = (await friend.page.getByText(/^did:key:z6Mk/).first().textContent()).trim().split(/\s/)[0];

    await page.getByRole("button", { name: "Share this folder" }).click();
    await page.getByLabel("One DID only").check();
    await page.getByLabel("Reader's DID").fill(did);
    await page.getByRole("button", { name: "Make the link" }).click();
    const mine = await page.getByLabel("The link for that DID").inputValue();
    await friend.page.goto(mine);
    await friend.page.getByText("Reports/may.txt").waitFor();
    const other = await stranger();
    await other.page.goto(mine);
    await other.page.getByText(/This link is for did:key/).waitFor();
    await other.close();
    await friend.close();
    await owner.close();
  });
}
