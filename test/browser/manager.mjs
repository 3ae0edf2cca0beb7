// The files page as a file manager: keys, many files, folders that come and go, looks into files.
import assert from "node:assert/strict";
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pdfOf } from "./pdf.mjs";
import { check, visitors } from "./visitor.mjs";
import { eventually } from "./world.mjs";

const text = (name, content) => ({ name, mimeType: "text/plain", buffer: Buffer.from(content) });

export function managerTests(world) {
  const { newcomer } = visitors(world);

  async function withFiles(files, options) {
    const who = await newcomer(options);
    await who.visit("files");
    await who.page.getByText("No files yet.").waitFor();
    if (files.length > 0) {
      await who.page.getByLabel("Files to upload").setInputFiles(files);
      for (const { name } of files) await who.page.getByRole("row", { name, exact: true }).waitFor();
    }
    return who;
  }
  const row = (page, name) => page.getByRole("row", { name, exact: true });
  const focused = (page, name) =>
    eventually(`the focus is on ${name}`, () =>
      page.evaluate((name) => document.activeElement.getAttribute("aria-label") === name, name),
    );

  test("a hundred thousand files are walked through, and no task is long", async () => {
    const who = await newcomer();
    const { page } = who;
    const count = 100_000;
    const pad = (i) => String(i).padStart(6, "0");
    // The store's own part is tested in Go; here it answers at once.
    await page.route("**/api/fs/tree?*", (route) => {
      const asked = new URL(route.request().url()).searchParams;
      const from = Number(asked.get("after") ?? 0);
      const to = Math.min(count, from + Number(asked.get("limit")));
      const nodes = [];
      for (let i = from; i < to; i++) {
        nodes.push({
          path: `/f${pad(i)}.txt`,
          name: `f${pad(i)}.txt`,
          type: "file",
          id: `id${i}`,
          mimeType: "text/plain",
          size: i,
          cid: "bafkreiexample",
          version: 1,
          updatedAt: "2026-11-01T10:00:00.000Z",
        });
      }
      return route.fulfill({ json: { nodes, ...(to < count ? { next: String(to) } : {}) } });
    });
    await page.evaluate(() => {
      globalThis.longest = 0;
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) globalThis.longest = Math.max(globalThis.longest, duration);
      }).observe({ type: "longtask" });
    });
    await page.getByRole("link", { name: "Files" }).click();
    await page.getByText("100,000 entries.").waitFor();
    const mounted = () => page.locator(".file-rows > [role=row]").count();
    await row(page, "f000000.txt").focus();
    await page.keyboard.press("End");
    await focused(page, "f099999.txt");
    assert.ok(await row(page, "f099999.txt").isVisible());
    assert.ok((await mounted()) < 80, `${await mounted()} rows are drawn`);
    await page.keyboard.press("Home");
    await focused(page, "f000000.txt");
    await page.keyboard.press("PageDown");
    // In one go: letters that follow each other slowly, as on a busy machine, are words of their own.
    await page.evaluate(() => {
      for (const key of "f05") {
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      }
    });
    await focused(page, "f050000.txt");
    await page.keyboard.press("Control+a");
    await page.getByText("100,000 files chosen").waitFor();
    await page.keyboard.press("Escape");
    assert.ok((await mounted()) < 80, `${await mounted()} rows are drawn`);
    const longest = await page.evaluate(() => globalThis.longest);
    // A whole list that is drawn takes tens of seconds; the machine of a test may be busy.
    assert.ok(longest < 1500, `a task took ${longest} ms`);
    world.measured?.({ longest, mounted: await mounted() });
    await who.close();
  });

  test("keys do what they do in a file manager, and what was done is taken back", async () => {
    const who = await withFiles([text("alpha.txt", "a\n"), text("beta.txt", "b\n"), text("gamma.txt", "c\n")]);
    const { page } = who;
    const press = async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const names = () => page.locator(".file-rows .called").allTextContents();
    const has = (...want) =>
      eventually(`the folder has ${want}`, async () => JSON.stringify(await names()) === JSON.stringify(want));
    await row(page, "alpha.txt").focus();
    // A name is changed where it stands; Escape leaves it.
    await press("F2");
    await page.getByLabel("New name of alpha.txt").waitFor();
    await page.keyboard.type("nothing");
    await press("Escape");
    await focused(page, "alpha.txt");
    await press("F2");
    await page.getByLabel("New name of alpha.txt").waitFor();
    await page.keyboard.type("zeta");
    await press("Enter");
    await has("beta.txt", "gamma.txt", "zeta.txt");
    await focused(page, "zeta.txt");
    assert.equal(await page.getByRole("status").getByText("alpha.txt is called zeta.txt now.").count(), 1);
    await press("Control+z");
    await has("alpha.txt", "beta.txt", "gamma.txt");
    // Two of them go and come back.
    await press("Home", "Shift+ArrowDown");
    await page.getByText("2 files chosen").waitFor();
    assert.equal(await row(page, "beta.txt").getAttribute("aria-selected"), "true");
    await press("Delete");
    await has("gamma.txt");
    await focused(page, "gamma.txt");
    await press("Control+z");
    await has("alpha.txt", "beta.txt", "gamma.txt");
    // Into a new folder by cutting and pasting, and out of it by copying.
    await page.getByRole("button", { name: "New folder" }).click();
    await page.getByLabel("Name of the new folder").fill("Box");
    await press("Enter");
    await page.getByText("This folder is empty.").waitFor();
    await page.getByRole("link", { name: "All files" }).click();
    await row(page, "alpha.txt").focus();
    await press("Home");
    await focused(page, "Box, folder");
    await press("a", "Control+x", "Home", "Enter");
    await page.getByText("This folder is empty.").waitFor();
    await focused(page, "Files in /Box");
    await page.getByRole("button", { name: /^Paste 1 entry/ }).waitFor();
    await press("Control+v");
    await has("alpha.txt");
    await focused(page, "alpha.txt");
    await press("Control+c", "Control+v");
    await has("alpha (2).txt", "alpha.txt");
    await press("Backspace");
    await focused(page, "Box, folder");
    await has("Box", "beta.txt", "gamma.txt");
    // A folder goes with all that is in it, and comes back so.
    await press("Delete");
    await has("beta.txt", "gamma.txt");
    await page.getByRole("button", { name: "Undo" }).click();
    await has("Box", "beta.txt", "gamma.txt");
    await row(page, "Box, folder").focus();
    await press("Enter");
    await has("alpha (2).txt", "alpha.txt");
    await focused(page, "alpha (2).txt");
    await check(page, "a folder with the focus in it");
    await who.close();
  });

  test("a folder is uploaded whole, and names that are taken are asked about once", async () => {
    const place = mkdtempSync(join(tmpdir(), "castalia-folder-"));
    mkdirSync(join(place, "Plans", "deep"), { recursive: true });
    for (const name of ["one.txt", "two.txt", "deep/three.txt"]) writeFileSync(join(place, "Plans", name), `${name}\n`);
    const who = await withFiles([]);
    const { page } = who;
    const folder = () => page.getByLabel("Folder to upload").setInputFiles(join(place, "Plans"));
    await folder();
    await page.getByText("3 files stored.").waitFor();
    await page.getByRole("button", { name: "Plans", exact: true }).click();
    await row(page, "two.txt").waitFor();
    await page.getByRole("button", { name: "deep", exact: true }).click();
    await row(page, "three.txt").waitFor();
    await page.getByRole("link", { name: "All files" }).click();
    await row(page, "Plans, folder").waitFor();
    await folder();
    const asked = page.getByRole("dialog", { name: "3 names are taken" });
    await asked.waitFor();
    await check(page, "names that are taken");
    // What is said of the first upload is dismissed, or it would be taken for the second.
    await page.getByRole("button", { name: "Dismiss" }).dispatchEvent("click");
    await page.getByText("3 files stored.").waitFor({ state: "detached" });
    await asked.getByRole("button", { name: "Keep both" }).click();
    await page.getByText("3 files stored.").waitFor();
    await page.getByRole("button", { name: "Plans", exact: true }).click();
    await row(page, "one (2).txt").waitFor();
    await who.close(["409"]);
    rmSync(place, { recursive: true });
  });

  test("files are moved by a chooser of folders and by dragging", async () => {
    const who = await withFiles([text("a.txt", "a\n"), text("b.txt", "b\n")]);
    const { page } = who;
    await page.getByRole("checkbox", { name: "Choose a.txt" }).check();
    await page.getByRole("button", { name: "Move", exact: true }).click();
    const chooser = page.getByRole("dialog", { name: "Move a.txt" });
    assert.ok(await chooser.getByRole("button", { name: "Move to all files" }).isDisabled());
    await chooser.getByLabel("Name of a new folder here").fill("Box");
    await page.keyboard.press("Enter");
    await chooser.getByText("No folders in here.").waitFor();
    await check(page, "a chooser of folders");
    await chooser.getByRole("button", { name: "Move to Box" }).click();
    await page.getByText("a.txt moved to Box.").waitFor();
    await row(page, "Box, folder").waitFor();
    await row(page, "b.txt").dragTo(row(page, "Box, folder"), {
      sourcePosition: { x: 600, y: 20 },
      targetPosition: { x: 600, y: 20 },
    });
    await page.getByText("b.txt moved to Box.").waitFor();
    await row(page, "b.txt").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Box", exact: true }).click();
    await row(page, "b.txt").waitFor();
    await row(page, "b.txt").dragTo(page.getByRole("link", { name: "All files" }), {
      sourcePosition: { x: 600, y: 20 },
    });
    await row(page, "b.txt").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Undo" }).click();
    await row(page, "b.txt").waitFor();
    await who.close();
  });

  test("files are looked into: pictures, tables, PDF, and versions side by side", async () => {
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    const lines = (last) => `${Array.from({ length: 30 }, (_, i) => `line ${i}`).join("\n")}\n${last}\n`;
    const who = await withFiles([
      { name: "dot.png", mimeType: "image/png", buffer: png },
      {
        name: "prices.csv",
        mimeType: "text/csv",
        buffer: Buffer.from('crop,price\n"maize, white",12\n'),
      },
      {
        name: "report.pdf",
        mimeType: "application/pdf",
        buffer: pdfOf(["The spring rises at Delphi."]),
      },
      { name: "main.go", mimeType: "", buffer: Buffer.from("package main\n") },
      text("notes.txt", lines("before")),
    ]);
    const { page } = who;
    const open = async (name, shown) => {
      await page.getByRole("button", { name, exact: true }).click();
      await shown.waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    await row(page, "dot.png").locator("img.thumbnail").waitFor();
    await open("dot.png", page.getByRole("img", { name: "Preview of dot.png" }));
    await open("prices.csv", page.getByRole("cell", { name: "maize, white" }));
    await open("main.go", page.getByText("package main"));
    await page.getByRole("button", { name: "report.pdf", exact: true }).click();
    const asText = page.getByRole("button", { name: "Show as text" });
    const says = page.getByText("The spring rises at Delphi.");
    await asText.or(says).first().waitFor();
    if (await asText.isVisible()) await asText.click();
    await says.waitFor();
    await check(page, "a PDF as text");
    await page.keyboard.press("Escape");
    await page.getByLabel("Files to upload").setInputFiles(text("notes.txt", lines("after")));
    await page.getByRole("button", { name: "Replace" }).click();
    await page.getByRole("gridcell", { name: /, v2$/ }).waitFor();
    await page.getByRole("button", { name: "notes.txt", exact: true }).click();
    await page.getByRole("button", { name: "Compare version 1 with the newest" }).click();
    const compared = page.getByRole("dialog", { name: /version 1 and the newest/ });
    await compared.getByText("1 line added, 1 line removed since version 1.").waitFor();
    assert.equal(await compared.locator(".diff-two tr", { hasText: "before" }).getByText("after").count(), 1, "side by side");
    await page.setViewportSize({ width: 360, height: 740 });
    await compared.locator(".diff-one").first().waitFor();
    await check(page, "a comparison in a narrow window");
    await compared.getByRole("button", { name: "Restore version 1" }).click();
    await page.getByRole("button", { name: /^Version 3/ }).waitFor();
    await who.close(["409"]);
  });
}
