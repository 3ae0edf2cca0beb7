// Calls in Firefox: the same pages as in Chromium, by another engine's WebRTC.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startFirefox } from "./firefox.mjs";
import { startSpeech } from "./speech.mjs";
import { remember } from "./telephone.mjs";
import { eventually, startProgram } from "./world.mjs";

const tone = 620;
const answer = { text: "It is sunny in London.", pause: 20 };
/** How loud the service speaks; noise, as of frames that were not opened, would be louder or nothing. */
const level = 0.4;

describe("calls in Firefox", { concurrency: 1 }, () => {
  let firefox;
  let service;
  let program;
  before(async () => {
    service = await startSpeech({ pitch: 140, sentence: "", tone, answer });
    [program, firefox] = await Promise.all([startProgram(service.env), startFirefox()]);
  });
  after(async () => {
    await firefox?.close();
    await program?.stop();
    await service?.stop();
  });

  /** A fresh person on the call page. */
  async function caller() {
    const tab = await firefox.open(`${program.url}/console/call`, remember);
    await tab.click("button", "Make a key and enter");
    await tab.shows("h1", "Call your oracle");
    return tab;
  }

  /** Types with the microphone muted: the made-up one hums, and a caller who speaks interrupts. */
  async function say(tab, text) {
    await tab.click("button[aria-pressed=false]", "Mute the microphone");
    await tab.evaluate((text) => {
      const field = document.querySelector("#say");
      const { set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
      set.call(field, text);
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }, text);
    await tab.click("button[type=submit]", "Send");
  }

  /**
   * In a page: looks from now on whether sound of that level is played, and remembers it. An answer
   * lasts a second, which a busy machine may spend on asking. Without a sound card Firefox analyses none.
   */
  function listen(level) {
    setInterval(async () => {
      const { currentTime, paused } = document.querySelector("audio") ?? { paused: true };
      const stats = [...((await globalThis.seen.connections.at(-1)?.getStats()) ?? new Map()).values()];
      const sound = stats.find((s) => s.type === "inbound-rtp" && s.kind === "audio");
      const isHeard = !paused && currentTime > 0 && Math.abs((sound?.audioLevel ?? 0) - level) < 0.05;
      globalThis.wasHeard ||= isHeard;
    }, 50);
  }

  const isOn = "Listening|Thinking|Speaking|Connected";

  for (const sealed of [false, true]) {
    test(`an answer is heard and read${sealed ? ", with sealed frames too" : ""}`, async () => {
      const tab = await caller();
      await tab.shows("[role=status]", "The oracle hears what you say; it answers aloud.");
      if (sealed) await tab.click("label.choice", "Encrypt every frame");
      await tab.click("button", "Voice call");
      await tab.shows(".going-on", isOn);
      await tab.evaluate(listen, level);
      await say(tab, "how is the weather?");
      await eventually("the voice is heard", () => tab.evaluate(() => globalThis.wasHeard));
      await tab.shows(".caption.assistant", answer.text);
      await tab.click("button", "Hang up");
      await tab.shows("[role=status]", "The call has ended.");
      const left = await tab.evaluate(() =>
        globalThis.seen.streams.flatMap((s) => s.getTracks()).map((t) => t.readyState),
      );
      assert.ok(left.length > 0 && left.every((state) => state === "ended"), left.join());
      assert.deepEqual(tab.faults, []);
      await tab.close();
    });
  }

  test("a page that is reloaded goes on with its call", async () => {
    const tab = await caller();
    await tab.click("button", "Voice call");
    await tab.shows(".going-on", isOn);
    await tab.reload();
    await tab.shows(".going-on", isOn);
    await say(tab, "are you still there?");
    await tab.shows(".caption.assistant", answer.text);
    await tab.click("button", "Hang up");
    await tab.shows("[role=status]", "The call has ended.");
    await tab.close();
  });
});
