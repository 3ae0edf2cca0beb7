// A spoken sentence, the spoken answer, and a caller who interrupts it.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pitchOf, spokenFile, startSpeech } from "./speech.mjs";
import { caller, speaking } from "./telephone.mjs";
import { eventually, startBrowser, startFleet, startProgram } from "./world.mjs";

const pitch = 140;
const tone = 620;
const sentence = "what is the weather in london today";
const folder = mkdtempSync(join(tmpdir(), "castalia-speech-"));
const file = join(folder, "sentence.wav");
const recording = spokenFile(pitch, 1.6, 6.4);
writeFileSync(file, recording);

let browser;
before(async () => {
  browser = await startBrowser(speaking(file));
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

test("the recording has the pitch that the service listens for", () => {
  assert.ok(Math.abs(pitchOf(recording.subarray(0, 120_000)) - pitch) < 12);
});

describe("speech", { concurrency: 2 }, () => {
  for (const [shape, start] of Object.entries({ embedded: startProgram, fleet: startFleet })) {
    describe(shape, { concurrency: 1 }, () => speech(start));
  }
});

function speech(start) {
  let service;
  let program;
  const answer = { text: "It is sunny in London.", pause: 20 };
  before(async () => {
    service = await startSpeech({ pitch, sentence, tone, answer });
    program = await start(service.env);
  });
  after(async () => {
    await program?.stop();
    await service?.stop();
  });

  test("a spoken sentence is understood, answered aloud, and kept as text", async () => {
    const tab = await caller(browser, program.url);
    await tab.call("Voice call");
    await tab.connected();
    await tab.page.locator(".caption.user", { hasText: sentence }).first().waitFor();
    assert.equal(await tab.hears(tone), true);
    await tab.page.locator(".caption.assistant", { hasText: answer.text }).first().waitFor();
    assert.ok(service.seen.spoken.join(" ").includes("sunny in London"));
    await tab.page.getByRole("button", { name: "Hang up" }).click();
    await tab.page.getByRole("link", { name: "Read the conversation" }).click();
    await tab.page.locator("article.castalia-message.human", { hasText: sentence }).first().waitFor();
    await tab.page.locator("article.castalia-message.ai", { hasText: answer.text }).first().waitFor();
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });

  for (const sealed of [false, true]) {
    test(`a model that sees is shown what the camera shows${sealed ? ", sealed frames too" : ""}`, async () => {
      answer.text = "I see it.";
      const tab = await caller(browser, program.url);
      if (sealed) {
        await tab.page.getByText("Privacy").click();
        await tab.page.getByLabel("Encrypt every frame once more").check();
      }
      await tab.call("Video call");
      await tab.connected();
      await tab.sees();
      const question = `What do you see? ${sealed}`;
      await tab.type(question);
      const caption = tab.page.locator(".caption.user", { hasText: question });
      await caption.getByText("The oracle looked at your picture").waitFor();
      const url = await eventually("the model is shown a picture", () => {
        const asked = service.seen.asked.find((content) => content[0]?.text?.split("\n\n<context>\n")[0] === question);
        return asked?.find((part) => part.type === "image_url")?.image_url.url;
      });
      const [kind, base64] = url.split(",");
      assert.equal(kind, "data:image/jpeg;base64");
      const { width, height, byPixel, ofBlack } = await tab.unlike(Buffer.from(base64, "base64"));
      assert.ok(width >= 160 && height >= 120, `${width} x ${height}`);
      assert.ok(byPixel < 20 && ofBlack > 40, `unlike by ${byPixel}, black would be by ${ofBlack}`);
      await tab.page.getByRole("button", { name: "Hang up" }).click();
      await tab.page.getByRole("link", { name: "Read the conversation" }).click();
      await tab.page.locator("article.castalia-message.human", { hasText: question }).waitFor();
      assert.equal(await tab.page.locator("article.castalia-message.human img").count(), 0);
      assert.deepEqual(tab.faults, []);
      await tab.close();
    });
  }

  test("who speaks again is listened to: the answer stops, and so does the work on it", async () => {
    // An answer that is far longer than the silence of the recording.
    answer.text = "This is a long story about the weather. ".repeat(40);
    answer.pause = 150;
    const before = service.seen.cut;
    const tab = await caller(browser, program.url);
    await tab.call("Voice call");
    await tab.connected();
    assert.equal(await tab.hears(tone), true);
    await eventually("the model's answer is cut off", () => service.seen.cut > before);
    await eventually("the sentence was heard twice", async () => {
      return (await tab.page.locator(".caption.user").count()) >= 2;
    });
    await tab.page.getByRole("button", { name: "Hang up" }).click();
    await tab.close();
  });
}
