// Knowledge: documents are dropped, read, asked, shared with readers and removed.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pdfOf } from "./pdf.mjs";
import { looksRight, visitors } from "./visitor.mjs";
import { eventually, startBrowser, startProgram } from "./world.mjs";

const world = {};
let program;
before(async () => {
  [program, world.browser] = await Promise.all([startProgram(), startBrowser()]);
  world.url = program.url;
});
after(async () => {
  await world.browser?.close();
  await program?.stop();
});

async function reader() {
  const who = await visitors(world).newcomer();
  await who.page.getByRole("link", { name: "Knowledge" }).click();
  await who.page.getByRole("heading", { name: "No documents yet" }).waitFor();
  return who;
}

/** Drops files on the window, as from a desktop. */
async function drop(page, name, type, bytes) {
  await page.evaluate(
    ([name, type, text]) => {
      const data = new DataTransfer();
      data.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name, { type }));
      document.body.dispatchEvent(new DragEvent("dragover", { dataTransfer: data, bubbles: true, cancelable: true }));
      document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    },
    [name, type, bytes.toString("base64")],
  );
}

async function ask(page, question) {
  await page.getByLabel("Ask the documents").last().fill(question);
  await page.keyboard.press("Enter");
}

test("a PDF that is dropped answers, with its page", async (t) => {
  const { page, close } = await reader();
  await looksRight(page, "knowledge-empty");
  const rules = (what) => Array.from({ length: 30 }, (_, i) => `Rule ${i + 1} of the ${what}: whoever draws water leaves the place clean.`);
  const pdf = pdfOf(rules("well"), [...rules("tap"), "The key of the pump house is kept by Peter Wafula."]);
  const dropped = performance.now();
  await drop(page, "pump.pdf", "application/pdf", pdf);
  const row = page.getByRole("row", { name: /pump\.pdf/ });
  await row.getByText("read", { exact: true }).waitFor();
  assert.equal(await row.getByRole("cell").nth(2).textContent(), "2");
  await ask(page, "who keeps the key of the pump house?");
  const passage = page.locator(".passages li").first();
  await passage.locator("blockquote", { hasText: "kept by Peter Wafula" }).waitFor();
  await passage.getByText(/page 2/).waitFor();
  t.diagnostic(`answered ${Math.round(performance.now() - dropped)} ms after it was dropped`);
  await looksRight(page, "knowledge-answer");
  await ask(page, "what does a helicopter licence cost in Norway?");
  await page.getByText("No document answers that.").waitFor();
  // A document that cannot be read says why.
  await drop(page, "broken.pdf", "application/pdf", Buffer.from("%PDF-1.4 nothing"));
  const broken = page.getByRole("row", { name: /broken\.pdf/ });
  await broken.getByText("failed", { exact: true }).waitFor();
  assert.notEqual(await broken.locator("p.bad").textContent(), "");
  await page.getByRole("button", { name: "Remove broken.pdf" }).click();
  await broken.waitFor({ state: "detached" });
  // Readers are chosen, and it is remembered.
  await page.getByLabel("Who may ask documents").selectOption("members");
  await eventually("the readers are stored", async () => {
    await page.reload();
    await row.waitFor();
    return (await page.getByLabel("Who may ask documents").inputValue()) === "members";
  });
  await page.getByRole("button", { name: "Forget documents" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Forget" }).click();
  await page.getByRole("heading", { name: "No documents yet" }).waitFor();
  await close();
});

test("the sample community is there in one click, and gone in another", async () => {
  const { page, close } = await reader();
  await page.getByRole("button", { name: "Load a sample community" }).click();
  await eventually("all are read", async () => (await page.getByRole("cell", { name: "read", exact: true }).count()) === 5);
  await ask(page, "when is the clinic open on Saturday?");
  await page.locator("blockquote", { hasText: "9:00 to 12:30" }).first().waitFor();
  await ask(page, "mbolea ya DAP ni bei gani?");
  await page.locator("blockquote", { hasText: "3500" }).first().waitFor();
  await looksRight(page, "knowledge-sample");
  await page.getByRole("button", { name: "Remove the sample" }).click();
  await page.getByRole("heading", { name: "No documents yet" }).waitFor();
  await page.getByRole("link", { name: "Files" }).click();
  await page.getByText("No files yet.").waitFor();
  await close();
});

test("people answer what no document does, and see who asked only if the asker agreed", async () => {
  const owner = await reader();
  await drop(owner.page, "tank.md", "text/markdown", Buffer.from("# The tank\n\nThe tank of the village holds 20,000 litres of water.\n"));
  const row = owner.page.getByRole("row", { name: /tank\.md/ });
  await row.getByText("read", { exact: true }).waitFor();
  await owner.page.getByText("This collection is waiting for an operator").waitFor();
  await owner.visit("operator/knowledge");
  await owner.page.getByRole("button", { name: "Publish documents" }).click();
  await owner.page.getByRole("button", { name: "Take back documents" }).waitFor();
  await looksRight(owner.page, "operator-knowledge");

  // Somebody without documents asks those of others.
  const asker = await visitors(world).newcomer();
  await asker.visit("knowledge");
  await asker.page.getByRole("heading", { name: "No documents of yours yet" }).waitFor();
  const askPeople = async (question, name) => {
    await ask(asker.page, question);
    await asker.page.getByText("No document answers that.").waitFor();
    const form = asker.page.getByRole("form", { name: "Ask people" });
    const agree = form.getByLabel("Those who answer may see who I am");
    assert.equal(await agree.isChecked(), false, "nobody has agreed yet");
    if (name) {
      await agree.check();
      await form.getByLabel(/Your name/).fill(name);
      await looksRight(asker.page, "knowledge-consent");
    }
    await form.getByRole("button", { name: "Ask people" }).click();
    await asker.page.getByText("The people of documents were asked").waitFor();
  };
  const colour = "which colour will the roof get next spring?";
  await askPeople(colour);
  await asker.page.getByText("and do not see who you are").waitFor();
  const who = "when does the plumber Joram come?";
  await askPeople(who, "Amina");
  await asker.page.getByText("see that you are Amina", { exact: false }).first().waitFor();

  // The owner of the folder answers one, an operator the other.
  await owner.visit("knowledge");
  const silent = owner.page.getByRole("form", { name: colour });
  await silent.getByText(/^somebody · web · documents/).waitFor();
  await owner.page.getByRole("form", { name: who }).getByText(/^Amina · web · documents/).waitFor();
  assert.doesNotMatch(await silent.textContent(), /did:/);
  await looksRight(owner.page, "knowledge-desk");
  await silent.getByLabel("Answer").fill("The roof stays green.");
  await silent.getByLabel("Keep it for whoever asks the same").check();
  await silent.getByRole("button", { name: "Send the answer" }).click();
  await silent.waitFor({ state: "detached" });
  await owner.visit("operator/knowledge");
  const named = owner.page.getByRole("form", { name: who });
  await named.getByRole("button", { name: "Dismiss" }).click();
  await named.waitFor({ state: "detached" });
  await owner.page.getByText("No question waits.").waitFor();

  // The asker hears of both, and the pair that was kept answers from now on.
  const mine = asker.page.getByRole("region", { name: "What you asked people" });
  await mine.getByText("The roof stays green.").waitFor();
  await mine.getByText(/dismissed/).waitFor();
  await looksRight(asker.page, "knowledge-mine");
  await ask(asker.page, colour);
  await asker.page.locator(".passages blockquote", { hasText: "The roof stays green." }).first().waitFor();
  await asker.close();
  await owner.close();
});

test("the first useful answer is three clicks away, and says where it stands", async () => {
  const empty = await startProgram();
  try {
    const { page, visit, close } = await visitors({ ...world, url: empty.url }).stranger();
    await visit("");
    await page.getByRole("button", { name: "Make a key and enter" }).click();
    await page.getByRole("button", { name: /Load a sample community/ }).click();
    await page.getByRole("button", { name: /clinic/ }).click();
    const answer = page.locator("p, li, blockquote").filter({ hasText: "9:00 to 12:30", visible: true });
    await answer.first().waitFor();
    await page.getByText("[1] Mwangaza Clinic: opening hours, Consultations (clinic-hours.md)").first().waitFor();
    if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/three-clicks.png` });
    await close();
  } finally {
    await empty.stop();
  }
});
