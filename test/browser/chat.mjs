// Chat: what every deployment's console does with an oracle.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, looksRight, say, visitors } from "./visitor.mjs";
import { eventually } from "./world.mjs";

export function chatTests(world) {
  const { newcomer } = visitors(world);

  test("an answer streams as Markdown, safely, with its reasoning folded", async () => {
    const { page, close } = await newcomer();
    await say(page, "think about water");
    const answer = await answered(page, "onerror");
    assert.equal(await answer.getByRole("heading", { name: "Water" }).count(), 1);
    assert.equal(await answer.locator("strong", { hasText: "clear" }).count(), 1);
    assert.equal(await answer.locator("li").count(), 2);
    assert.equal(await answer.locator("img").count(), 0);
    const thought = answer.getByText("First the spring, then the poets.");
    await thought.waitFor({ state: "hidden" });
    await answer.getByText("Reasoning").click();
    await thought.waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    await page.reload();
    await answered(page, "onerror");
    assert.equal(await page.locator("article.castalia-message.human").count(), 1);
    await close();
  });

  test("that the oracle thinks is said once, and not kept", async () => {
    const { page, close } = await newcomer();
    await say(page, "wait before water");
    const answer = page.locator("article.castalia-message.ai").last();
    await answer.getByText("Thinking").waitFor();
    assert.equal((await page.getByRole("log").textContent()).match(/thinking/gi).length, 1);
    assert.equal(await answer.locator("details").count(), 0, "there is nothing to unfold");
    world.model.release();
    await answered(page, "You said: wait before water");
    assert.equal(await page.getByText(/thinking|how it thought/i).count(), 0);
    await close();
  });

  test("a reload in the middle of an answer loses nothing and doubles nothing", async () => {
    const { page, close } = await newcomer();
    await say(page, "count to 60 every 5 hold at 20");
    const answer = page.locator("article.castalia-message.ai").last();
    await eventually("the answer has begun", async () => (await answer.textContent()).includes("n8 "));
    await page.reload();
    await eventually("it is joined", async () => (await answer.textContent()).includes("n20 "));
    await page.getByRole("button", { name: "Stop the answer" }).waitFor();
    world.model.release();
    await answered(page, "n60");
    const numbers = (await answer.locator(".castalia-markdown").textContent()).match(/n\d+/g);
    assert.deepEqual(numbers, Array.from({ length: 60 }, (_, i) => `n${i + 1}`));
    assert.equal(await page.locator("article.castalia-message").count(), 2);
    await close();
  });

  test("an answer can be stopped, and what was said stays", async () => {
    const { page, close } = await newcomer();
    await say(page, "count to 500 every 5 hold at 20");
    const answer = page.locator("article.castalia-message.ai").last();
    await eventually("the answer has begun", async () => (await answer.textContent()).includes("n20 "));
    await page.getByRole("button", { name: "Stop the answer" }).click();
    await page.getByRole("button", { name: "Send" }).waitFor();
    world.model.release();
    assert.doesNotMatch(await answer.textContent(), /n499/);
    await page.reload();
    await eventually("it is stored", async () => (await answer.textContent()).includes("n5 "));
    await close();
  });

  test("a tool of the browser runs on this page and its result goes back", async () => {
    const { page, close } = await newcomer({ colorScheme: "light" });
    await say(page, 'call set_theme {"theme":"dark"}');
    await answered(page, "The tool said");
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
    await page.locator("details.castalia-tool summary", { hasText: "set_theme" }).click();
    await page.getByText('"before": "auto"').waitFor();
    await say(page, "call device_facts {}");
    await answered(page, "timeZone");
    await say(page, 'call open_page {"page":"telephone"}');
    await page.getByRole("heading", { name: "Telephone", exact: true }).waitFor();
    await close();
  });

  test("actions are drawn in the answer, also after a reload", async () => {
    const { page, close } = await newcomer();
    const chart = { title: "Litres", labels: ["Mon", "Tue"], values: [3, 5] };
    await say(page, `call show_chart ${JSON.stringify(chart)}`);
    const drawing = page.getByRole("img", { name: "Litres: Mon 3, Tue 5" });
    await drawing.waitFor();
    await answered(page, "The tool said");
    assert.equal(await drawing.count(), 1);
    await page.reload();
    await drawing.waitFor();
    assert.equal(await drawing.count(), 1);
    await page.getByRole("button", { name: "As a table" }).click();
    await page.getByRole("rowheader", { name: "Tue" }).waitFor();
    await close();
  });

  test("what grows after it came, such as a chart, does not hide the end of the answer", async () => {
    const { page, close } = await newcomer({ viewport: { width: 360, height: 600 } });
    const chart = { title: "Litres", labels: ["Mon", "Tue"], values: [3, 5] };
    await say(page, `call show_chart ${JSON.stringify(chart)}`);
    await answered(page, "The tool said");
    const end = page.locator("article.castalia-message.ai").last().getByText("The tool said");
    const isInSight = () => end.evaluate((e) => e.getBoundingClientRect().bottom <= document.querySelector(".below").getBoundingClientRect().top);
    await eventually("the end is in sight", isInSight);
    await page.setViewportSize({ width: 360, height: 480 });
    await eventually("it is still in sight", isInSight);
    await close();
  });

  test("a file of the user is shown as a card, which opens it, also after a reload", async () => {
    const { page, close, visit } = await newcomer();
    await visit("files");
    await page.getByLabel("Files to upload").setInputFiles({
      name: "spring.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("The spring rises at Delphi.\n"),
    });
    await page.getByRole("button", { name: "spring.txt", exact: true }).waitFor();
    await visit("chat");
    await say(page, 'call show_file {"path":"spring.txt"}');
    const card = page.locator(".file-card");
    await card.getByText(/28 B · version 1 · baf/).waitFor();
    await answered(page, "The tool said");
    await say(page, 'call show_file {"path":"/nowhere.txt"}');
    await page.locator(".notice.bad", { hasText: "/nowhere.txt" }).waitFor();
    await answered(page, "The tool said");
    await page.reload();
    await page.locator(".notice.bad", { hasText: "/nowhere.txt" }).waitFor();
    await card.getByText(/28 B · version 1 · baf/).waitFor();
    assert.equal(await card.count(), 1);
    await card.getByRole("link", { name: "Open" }).click();
    const preview = page.getByRole("region", { name: "Preview of spring.txt" });
    await preview.getByText("rises at Delphi").waitFor();
    await close(["404"]);
  });

  test("what cannot be drawn leaves the rest of the conversation as it is", async () => {
    const { page, close } = await newcomer();
    await say(page, "hello");
    await answered(page, "You said: hello");
    for (const args of ['{"values":"many","labels":7}', "{}", '{"path":{"a":1}}']) {
      await say(page, `call ${args.includes("path") ? "show_file" : "show_chart"} ${args}`);
      await answered(page, "The tool said");
    }
    await page.reload();
    await page.locator("article.castalia-message.ai", { hasText: "You said: hello" }).waitFor();
    await page.locator(".notice.bad").nth(2).waitFor();
    await close();
  });

  test("what is written on the first page begins a conversation", async () => {
    const { page, close } = await newcomer();
    await page.getByLabel("Your first message").fill("good morning");
    await page.keyboard.press("Enter");
    await answered(page, "You said: good morning");
    assert.equal(await page.locator("article.castalia-message.human").count(), 1);
    await close();
  });

  test("two tabs of one user show one conversation", async () => {
    const { page, context, close } = await newcomer();
    await say(page, "first");
    await answered(page, "You said: first");
    const other = await context.newPage();
    await other.goto(page.url());
    await answered(other, "You said: first");
    await other.getByText("Live", { exact: true }).waitFor();
    await say(page, "second");
    await answered(other, "You said: second");
    await say(other, "third");
    await answered(page, "You said: third");
    // The words come before the end of the turn does, which settles what is shown.
    for (const tab of [page, other]) await tab.waitForFunction(() => document.querySelectorAll("article.castalia-message").length === 6);
    await close();
  });

  test("files are attached only with permission, and the oracle reads them", async () => {
    const { page, close } = await newcomer();
    await say(page, "hello");
    await answered(page, "You said: hello");
    const asked = page.getByRole("region", { name: "Permission for your files" });
    assert.equal(await asked.count(), 0, "files were not needed");
    await page.getByLabel("Files to attach").setInputFiles({
      name: "spring.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("The spring rises at Delphi.\n"),
    });
    await page.getByRole("list", { name: "Attached files" }).getByText("28 B").waitFor();
    await page.getByRole("button", { name: "Not now" }).click();
    await asked.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Change", exact: true }).click();
    await asked.waitFor();
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByText("The oracle may read your files").waitFor();
    await say(page, "what is this?");
    await answered(page, "The spring rises at Delphi.");
    await page.locator("article.castalia-message.human .castalia-chip", { hasText: "spring.txt" }).waitFor();
    // From the store, by the picker.
    await page.getByRole("button", { name: "Attach files" }).click();
    await page.getByRole("button", { name: /^spring.txt .Attachments/ }).click();
    await say(page, "again");
    await eventually("both answers quote it", async () =>
      (await page.locator("article.castalia-message.ai", { hasText: "rises at Delphi" }).count()) === 2,
    );
    await page.getByRole("link", { name: "About" }).click();
    await page.getByText("It may read your files in your name.").waitFor();
    await page.getByRole("button", { name: "Take it back" }).click();
    await page.getByText("touch none of your files").waitFor();
    await close();
  });

  test("a file is pasted or dropped into the message, and one on its way can be called back", async () => {
    const { page, close } = await newcomer();
    await page.getByRole("button", { name: "New conversation" }).click();
    const list = page.getByRole("list", { name: "Attached files" });
    const give = (kind, name, content) =>
      page.evaluate(
        ([kind, name, content]) => {
          const data = new DataTransfer();
          data.items.add(new File([content], name, { type: "text/plain" }));
          const at = kind === "paste" ? document.getElementById("message") : document.querySelector(".conversation");
          const event =
            kind === "paste"
              ? // Firefox has made-up events with what was copied only as plain text.
                Object.defineProperty(new ClipboardEvent("paste", { bubbles: true, cancelable: true }), "clipboardData", { value: data })
              : new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
          at.dispatchEvent(event);
        },
        [kind, name, content],
      );
    await page.getByLabel("Your message").waitFor();
    await give("paste", "pasted.txt", "from the clipboard");
    await list.getByText("18 B").waitFor();
    await give("drop", "dropped.txt", "from the desktop");
    await list.getByText("16 B").waitFor();
    // What is not stored yet can be called back.
    let held;
    await page.route("**/api/fs/upload/*", (route) => (held ??= route));
    await give("drop", "slow.txt", "never arrives");
    await list.getByText("0 %").waitFor();
    await eventually("it is on its way", () => held);
    await page.getByRole("button", { name: "Do not attach slow.txt" }).click();
    await list.getByText("slow.txt").waitFor({ state: "detached" });
    await page.unroute("**/api/fs/upload/*");
    await page.getByLabel("Your message").fill("look");
    await page.keyboard.press("Enter");
    await answered(page, "look");
    const mine = page.locator("article.castalia-message.human").last();
    for (const name of ["pasted.txt", "dropped.txt"]) await mine.getByText(name).waitFor();
    assert.equal(await mine.getByText("slow.txt").count(), 0);

    // Who does not wait for a file is told that the message does, and may keep it back.
    held = undefined;
    await page.route("**/api/fs/upload/*", (route) => (held ? route.continue() : (held = route)));
    await give("drop", "late.txt", "arrives at last");
    await eventually("it is on its way", () => held);
    const later = page.getByText("Your message goes out when the files are stored.");
    await page.getByLabel("Your message").fill("and this?");
    await page.keyboard.press("Enter");
    await later.waitFor();
    await page.getByRole("button", { name: "Do not send it yet" }).click();
    await later.waitFor({ state: "hidden" });
    assert.equal(await page.getByLabel("Your message").inputValue(), "and this?");
    await page.keyboard.press("Enter");
    await later.waitFor();
    await looksRight(page, "a message that waits for its file");
    await held.continue();
    await answered(page, "You said: and this?");
    await mine.getByText("late.txt").waitFor();
    assert.equal(await page.getByLabel("Your message").inputValue(), "");
    await page.unroute("**/api/fs/upload/*");
    await close();
  });

  test("the model can be chosen, and conversations found again", async () => {
    const { page, close } = await newcomer();
    await say(page, "first apples");
    await answered(page, "You said: first apples");
    await page.getByLabel("Model").selectOption("large");
    await say(page, "which model?");
    await answered(page, "which model?");
    const used = world.model.requests.filter((r) => JSON.stringify(r.messages).includes("which model?") && r.tools);
    assert.equal(used.at(-1).model, "large");
    await page.getByRole("button", { name: "New conversation" }).click();
    await eventually("the page is new", async () => (await page.locator("article.castalia-message").count()) === 0);
    await say(page, "second pears");
    await answered(page, "You said: second pears");
    const list = page.getByRole("complementary", { name: "Conversations" });
    await list.getByRole("link", { name: /apples/ }).waitFor();
    await list.getByRole("link", { name: /pears/ }).waitFor();
    await page.getByLabel("Search conversations").fill("APPLES");
    await list.getByRole("link", { name: /pears/ }).waitFor({ state: "detached" });
    await list.getByRole("link", { name: /apples/ }).click();
    await answered(page, "which model?");
    await list.getByRole("link", { name: /apples/ }).hover();
    await list.getByRole("button", { name: /^Delete/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await list.getByRole("link", { name: /apples/ }).waitFor({ state: "detached" });
    await close();
  });

  test("a search finds what was said, also in a conversation that the list has not shown yet", async () => {
    const { page, close } = await newcomer();
    let bearer;
    page.on("request", (r) => (bearer = r.headers()["authorization"] ?? bearer));
    await say(page, "the heron stands in the reeds");
    await answered(page, "You said: the heron");
    const list = page.getByRole("complementary", { name: "Conversations" });
    const heron = list.getByRole("link", { name: /heron/ });
    await heron.waitFor();
    const address = page.url();
    const headers = { Authorization: bearer, "X-Auth-Type": "ucan" };
    for (let i = 0; i < 51; i++) {
      const made = await fetch(`${world.url}/sessions`, { method: "POST", headers });
      assert.equal(made.status, 201);
    }
    await page.getByRole("link", { name: "Castalia" }).click();
    await page.reload();
    await list.getByRole("button", { name: "Older conversations" }).waitFor();
    assert.equal(await heron.count(), 0);
    await page.getByLabel("Search conversations").fill("REEDS said");
    const excerpt = list.locator(".castalia-excerpt");
    await excerpt.locator("mark", { hasText: "reeds" }).waitFor();
    assert.equal(await list.getByRole("link").count(), 1);
    await page.getByLabel("Search conversations").fill("reeds zebra");
    await list.getByText("Nothing was said with these words.").waitFor();
    await page.getByLabel("Search conversations").fill("reeds");
    await excerpt.waitFor();
    await list.getByRole("link").click();
    await answered(page, "You said: the heron");
    assert.equal(page.url(), address);
    await page.getByRole("heading", { level: 1, name: /heron/ }).waitFor();
    await close();
  });
}
