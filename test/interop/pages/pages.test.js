// Pages that are made with @ai-sdk/react and with CopilotKit, in a real browser, on an origin that is not the oracle's.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Post } from "../faces/post.js";
import { start } from "../faces/world.js";
import { Site } from "./site.js";

let ours;
let post;
let site;
before(async () => {
  post = await Post.start();
  ours = await start(post.env);
  site = await Site.start("chat", "copilot");
});
after(async () => {
  await site?.stop();
  await ours?.stop();
  post?.stop();
});

/** The texts of what the oracle said, when the last of them is as wanted. */
async function said(page, selector, last) {
  await page.locator(selector).filter({ hasText: last }).last().waitFor();
  return (await page.locator(selector).allInnerTexts()).map((text) => text.trim()).filter((text) => text !== "");
}

describe("useChat of @ai-sdk/react", () => {
  const open = async (t, id, key = ours.key) => {
    const page = await site.open(t, "chat", { url: ours.url, key, id });
    return {
      page,
      say: async (text) => {
        await page.getByLabel("Message").fill(text);
        await page.keyboard.press("Enter");
      },
      said: (last) => said(page, ".assistant .text", last),
      ready: () => page.locator("main[data-status=ready]").waitFor(),
    };
  };

  it("shows the text as it comes, and keeps the conversation", async (t) => {
    const chat = await open(t, "talk");
    const letGo = ours.hold();
    await chat.say("slow but sure wins");
    assert.deepEqual(await chat.said("sure"), ["Turn 1: slow but sure"]);
    await chat.page.locator("main[data-status=streaming]").waitFor();
    letGo();
    assert.deepEqual(await chat.said("wins"), ["Turn 1: slow but sure wins"]);
    await chat.ready();
    await chat.say("again");
    assert.deepEqual(await chat.said("Turn 2"), ["Turn 1: slow but sure wins", "Turn 2: again"]);
    assert.equal(await chat.page.getByRole("alert").count(), 0);
  });

  for (const [button, approved] of [["Approve", true], ["Deny", false]])
    it(`asks before the oracle acts: ${button}`, async (t) => {
      const chat = await open(t, `approval ${button}`, await ours.token());
      await chat.say(`send by ${button}`);
      await chat.page.getByRole("button", { name: button }).click();
      const [answer, ...more] = await chat.said("I did");
      assert.match(answer, approved ? /^I did: sent/ : /^I did: .*not approve/);
      assert.deepEqual(more, []);
      assert.equal(post.sent.filter((text) => text === `by ${button}`).length, approved ? 1 : 0);
    });

  it("comes back to its answer when it is loaded again", async (t) => {
    const chat = await open(t, "reload");
    const letGo = ours.hold();
    await chat.say("slow and steady wins");
    await chat.said("steady");
    await chat.page.reload();
    // Another node cannot know that the one that speaks is alive before it says more.
    if (!process.env.CASTALIA_REAL) assert.deepEqual(await chat.said("steady"), ["Turn 1: slow and steady"]);
    letGo();
    assert.deepEqual(await chat.said("wins"), ["Turn 1: slow and steady wins"]);
    await chat.ready();
    await chat.page.reload();
    await chat.ready();
    assert.deepEqual(await chat.said("wins"), ["Turn 1: slow and steady wins"]);
    await chat.say("and now");
    assert.deepEqual(await chat.said("Turn 2"), ["Turn 1: slow and steady wins", "Turn 2: and now"]);
    assert.equal(await chat.page.getByRole("alert").count(), 0);
  });

  it("says what is wrong", async (t) => {
    const chat = await open(t, "wrong", "cak_wrong");
    await chat.say("hello");
    await chat.page.getByRole("alert").waitFor();
  });
});

describe("CopilotKit's chat", () => {
  const open = async (t, id, key = ours.key) => {
    const page = await site.open(t, "copilot", { url: ours.url, key, id });
    return {
      page,
      say: async (text) => {
        await page.getByTestId("copilot-chat-textarea").fill(text);
        await page.keyboard.press("Enter");
      },
      said: (last) => said(page, "[data-testid=copilot-assistant-message]", last),
      /** The last answer has its buttons when it is over. */
      ready: () => page.getByTestId("copilot-assistant-toolbar").last().waitFor({ state: "attached" }),
    };
  };

  it("shows the text as it comes, and keeps the conversation", async (t) => {
    const chat = await open(t, "copilot talk");
    const letGo = ours.hold();
    await chat.say("slow but sure wins");
    assert.deepEqual(await chat.said("sure"), ["Turn 1: slow but sure"]);
    letGo();
    assert.deepEqual(await chat.said("wins"), ["Turn 1: slow but sure wins"]);
    await chat.ready();
    await chat.say("again");
    assert.deepEqual(await chat.said("Turn 2"), ["Turn 1: slow but sure wins", "Turn 2: again"]);
  });

  it("runs a tool of the page's", async (t) => {
    const chat = await open(t, "copilot tools");
    await chat.say("How is the weather?");
    assert.deepEqual(await chat.said("sunny"), ["It is sunny in Riga."]);
    assert.equal(await chat.page.locator("#asked").innerText(), "Riga");
  });

  for (const [button, approved] of [["Approve", true], ["Deny", false]])
    it(`asks before the oracle acts: ${button}`, async (t) => {
      const chat = await open(t, `copilot approval ${button}`, await ours.token());
      await chat.say(`send by copilot ${button}`);
      await chat.page.getByRole("button", { name: button }).click();
      const answers = await chat.said("I did");
      assert.match(answers.at(-1), approved ? /I did: sent/ : /I did: .*not approve/);
      assert.equal(post.sent.filter((text) => text === `by copilot ${button}`).length, approved ? 1 : 0);
    });
});
