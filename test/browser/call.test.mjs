// Calls in a real browser with made-up devices, against the real program.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { caller, devices } from "./telephone.mjs";
import { check } from "./visitor.mjs";
import { eventually, freePort, startBrowser, startFleet, startProgram } from "./world.mjs";

let browser;
before(async () => {
  browser = await startBrowser(devices);
});
after(() => browser?.close());

/** Another certificate than the one that was signed. */
const forge = (text) =>
  text.replace(
    /(fingerprint\W+sha-256 )(\w\w)/gi,
    (_, name, byte) => name + (byte === "00" ? "11" : "00"),
  );

// Calls wait more than they work: both shapes at the same time.
describe("calls", { concurrency: 2 }, () => {
  for (const [shape, start] of Object.entries({ embedded: startProgram, fleet: startFleet })) {
    describe(shape, { concurrency: 1 }, () => calls(start));
  }
});

function calls(start) {
  let program;
  before(async () => {
    program = await start(async () => ({ TURN_LISTEN: `127.0.0.1:${await freePort()}` }));
  });
  after(() => program?.stop());

  /** Shows the log when a test fails: what the tab saw is half of it. */
  const tested = (name, body) =>
    test(name, async () => {
      try {
        await body();
      } catch (cause) {
        process.stderr.write(program.log().slice(-8000));
        throw cause;
      }
    });

  tested(
    "a call is heard and seen, captioned, kept as text, and over when it is hung up",
    async () => {
      const tab = await caller(browser, program.url);
      await tab.call("Video call");
      await tab.connected();
      await tab.type("What is Castalia?");
      assert.equal(await tab.hears(440), true);
      await tab.sees();
      await tab.page.locator(".caption.user", { hasText: "What is Castalia?" }).waitFor();
      await eventually("the answer is captioned", async () => {
        const text = await tab.page.locator(".caption.assistant").last().textContent();
        return text.length > 40;
      });
      await tab.page.getByRole("button", { name: "Hang up" }).click();
      await tab.page.getByText("The call has ended.").waitFor();
      assert.deepEqual(await tab.devices(), ["ended", "ended"]);
      await tab.page.getByRole("link", { name: "Read the conversation" }).click();
      await tab.page.locator("article.castalia-message.human", { hasText: "What is Castalia?" }).waitFor();
      await tab.page.locator("article.castalia-message.ai").first().waitFor();
      assert.deepEqual(tab.faults, []);
      await tab.close();
    },
  );

  tested("another network does not end a call", async () => {
    const tab = await caller(browser, program.url);
    await tab.call("Video call");
    await tab.connected();
    await tab.sees();
    const before = await tab.connection();
    await tab.page.evaluate(() => globalThis.dispatchEvent(new Event("online")));
    const after = await eventually("the call goes another way", async () => {
      const now = await tab.connection();
      return now.name !== before.name && now.answers === 2 && now.state === "connected" && now;
    });
    assert.equal(after.made, 1, "it is the same call");
    await eventually("pictures go on", async () => (await tab.connection()).frames > after.frames);
    await tab.type("Hello again");
    assert.equal(await tab.hears(440), true);
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });

  tested("another microphone and camera are used in the middle of a call", async () => {
    const tab = await caller(browser, program.url);
    const { page } = tab;
    await tab.call("Video call");
    await tab.connected();
    await tab.sees();
    await page.getByText("Microphone and camera").click();
    // A second made-up camera of Chromium shows nothing in the place of another, with or without us:
    // the first is opened anew.
    for (const [kind, name, device] of [
      ["audio", "Microphone", "Fake Audio Input 2"],
      ["video", "Camera", "fake_device_0"],
    ]) {
      const before = await tab.sends(kind);
      const label = page.locator(".other-devices label", { hasText: new RegExp(`^${name}`) });
      await label.locator("select").selectOption({ label: device });
      const after = await eventually("the other one is used", async () => {
        const now = await tab.sends(kind);
        return now.track !== before.track && now.name === device && now;
      });
      await eventually(
        "it is sent",
        async () => (await tab.sends(kind)).packets > after.packets + 5,
      );
    }
    assert.deepEqual((await tab.devices()).toSorted(), ["ended", "ended", "live", "live"]);
    const { made, answers, frames } = await tab.connection();
    assert.deepEqual([made, answers, tab.dialled.count], [1, 1, 1], "it is the same call");
    await eventually("pictures go on", async () => (await tab.connection()).frames > frames + 5);
    await tab.type("Can you hear me?");
    assert.equal(await tab.hears(440), true);
    await page.getByRole("button", { name: "Hang up" }).click();
    await page.getByText("The call has ended.").waitFor();
    assert.deepEqual(new Set(await tab.devices()), new Set(["ended"]));
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });

  tested("a tab that is reloaded goes on with its call, on whatever page it is", async () => {
    const tab = await caller(browser, program.url);
    const { page } = tab;
    await tab.call("Voice call");
    await tab.connected();
    await tab.type("Before");
    await page.locator(".caption.user", { hasText: "Before" }).waitFor();
    await page.reload();
    await tab.connected();
    await tab.type("And after");
    assert.equal(await tab.hears(440), true);
    await page.getByRole("link", { name: "Files" }).click();
    const bar = page.getByRole("complementary", { name: "Call" });
    await bar.getByText(/Listening|Thinking|Speaking|Connected/).waitFor();
    await page.reload();
    await bar.getByText(/Listening|Thinking|Speaking|Connected/).waitFor();
    await bar.getByRole("button", { name: "Hang up" }).click();
    await bar.waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("link", { name: "Call" }).first().click();
    await page.getByRole("button", { name: "Voice call" }).waitFor();
    assert.equal(tab.dialled.count, 1, "it is the same call");
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });

  tested("a second tab takes a call over, and the first takes it back", async () => {
    const first = await caller(browser, program.url);
    await first.call("Voice call");
    await first.connected();
    const second = await first.another();
    await second.page.getByText("You are on a call in another tab").waitFor();
    await second.call("Go on with it here");
    await second.connected();
    await first.page.getByText("The call goes on in another tab").waitFor();
    assert.deepEqual(await first.devices(), ["ended"]);
    await second.type("It is me");
    assert.equal(await second.hears(440), true);
    await first.call("Go on with it here");
    await first.connected();
    await second.page.getByText("The call goes on in another tab").waitFor();
    await first.type("Here again");
    assert.equal(await first.hears(440), true);
    await first.page.getByRole("button", { name: "Hang up" }).click();
    await first.page.getByText("The call has ended.").waitFor();
    await second.page.getByText("You are on a call").waitFor({ state: "detached" });
    assert.deepEqual([first.dialled.count, second.dialled.count], [1, 0], "it is one call");
    assert.deepEqual([...first.faults, ...second.faults], []);
    await first.close();
  });

  tested("a browser without WebRTC is told what to do, before anything is asked for", async () => {
    const tab = await caller(browser, program.url, {
      prepare: (page) => page.addInitScript(() => delete globalThis.RTCPeerConnection),
    });
    await tab.page.getByText("This browser cannot make calls").waitFor();
    assert.equal(await tab.page.getByRole("button", { name: "Voice call" }).isDisabled(), true);
    assert.equal(await tab.page.getByRole("button", { name: "Video call" }).isDisabled(), true);
    assert.deepEqual(await tab.devices(), []);
    await tab.close();
  });

  tested("a line that is dead for seconds is mended without a new call", async () => {
    const tab = await caller(browser, program.url);
    await tab.call("Voice call");
    await tab.connected();
    program.signal("SIGSTOP");
    try {
      await tab.status.filter({ hasText: "Reconnecting" }).waitFor();
    } finally {
      program.signal("SIGCONT");
    }
    await tab.connected();
    await tab.type("Are you there?");
    assert.equal(await tab.hears(440), true);
    assert.equal((await tab.connection()).made, 1);
    await tab.close();
  });

  tested("a relay carries a call whose caller hides the own address", async () => {
    const tab = await caller(browser, program.url);
    await tab.page.getByText("Privacy").click();
    await tab.page.getByLabel("Hide my address").check();
    await tab.call("Video call");
    await tab.connected();
    assert.equal((await tab.connection()).way, "relay");
    await tab.sees();
    await tab.type("Hello");
    assert.equal(await tab.hears(440), true);
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });

  tested("frames that are encrypted once more are heard and seen", async () => {
    const tab = await caller(browser, program.url);
    await tab.page.getByText("Privacy").click();
    await tab.page.getByLabel("Encrypt every frame once more").check();
    await tab.call("Video call");
    await tab.connected();
    await tab.sees();
    const { frames } = await tab.connection();
    await eventually("pictures go on", async () => (await tab.connection()).frames > frames + 10);
    await tab.type("Hello");
    assert.equal(await tab.hears(440), true);
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });

  tested("a call is recorded when asked, with leave, and everybody knows", async () => {
    const tab = await caller(browser, program.url);
    const { page } = tab;
    await page.getByLabel("Record the call").check();
    await tab.call("Voice call");
    await page.getByRole("alert").filter({ hasText: "POST /delegation" }).waitFor();
    assert.deepEqual(await tab.devices(), ["ended"]);
    const leave = page.getByRole("region", { name: "Permission to record" });
    await leave.getByRole("button", { name: "Allow for a day" }).click();
    await leave.waitFor({ state: "detached" });
    await tab.call("Voice call");
    await tab.connected();
    await page.locator(".recorded.on", { hasText: "Recording" }).waitFor();
    await page.locator(".caption.assistant", { hasText: "is being recorded" }).waitFor();
    await tab.type("What is Castalia?");
    assert.equal(await tab.hears(440), true);
    await page.getByRole("button", { name: "Hang up" }).click();
    await page.getByRole("link", { name: "Find the recording" }).click();
    const file = page.getByRole("button", { name: /^\d{4}-\d\d-\d\d .*\.ogg$/ });
    await eventually("the recording is there", () =>
      file.waitFor({ timeout: 5000 }).then(
        () => true,
        () => page.reload().then(() => false),
      ),
    );
    await file.click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download" }).click(),
    ]);
    const bytes = readFileSync(await download.path()).toString("base64");
    const sound = await page.evaluate(async (bytes) => {
      const data = Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0));
      const heard = await new OfflineAudioContext(2, 1, 8000).decodeAudioData(data.buffer);
      const loudest = (at) =>
        heard.getChannelData(at).reduce((a, b) => Math.max(a, Math.abs(b)), 0);
      return { voices: heard.numberOfChannels, seconds: heard.duration, oracle: loudest(1) };
    }, bytes);
    assert.equal(sound.voices, 2);
    assert.ok(sound.seconds > 0 && sound.oracle > 0.2, JSON.stringify(sound));
    assert.deepEqual(
      tab.faults.filter((fault) => !/403/.test(fault)),
      [],
    );
    await tab.close();
  });

  for (const [where, prepare] of [
    [
      "in the oracle's word",
      (page) =>
        page.route("**/calls", async (route) => {
          const reply = await route.fetch();
          await route.fulfill({ response: reply, body: forge(await reply.text()) });
        }),
    ],
    [
      "in the answer",
      (page) =>
        page.routeWebSocket("**/socket.io/**", (tab) => {
          const server = tab.connectToServer();
          server.onMessage((message) => tab.send(forge(String(message))));
        }),
    ],
  ]) {
    tested(`a wrong fingerprint ${where} is refused before anything is sent`, async () => {
      const tab = await caller(browser, program.url, { prepare });
      await tab.call("Voice call");
      await tab.page.getByText("could not prove to be the oracle").waitFor();
      assert.equal((await tab.connection()).answers, 0);
      assert.deepEqual(await tab.devices(), ["ended"]);
      await tab.close();
    });
  }

  tested("a microphone that is refused is said so, and no call is made", async () => {
    const tab = await caller(browser, program.url, {
      prepare: (page) =>
        page.addInitScript(() => {
          navigator.mediaDevices.getUserMedia = () =>
            Promise.reject(new DOMException("Permission denied", "NotAllowedError"));
        }),
    });
    await tab.call("Voice call");
    await tab.page.getByText("The microphone may not be used.").waitFor();
    assert.equal(tab.dialled.count, 0);
    await tab.close();
  });

  tested("a call goes on while other pages are shown, and ends with its tab", async () => {
    const tab = await caller(browser, program.url);
    await tab.call("Voice call");
    await tab.connected();
    await tab.page.getByRole("link", { name: "Files" }).click();
    const bar = tab.page.getByRole("complementary", { name: "Call" });
    await bar.getByText(/Listening|Connected/).waitFor();
    assert.equal((await tab.connection()).state, "connected");
    await bar.getByRole("link", { name: "Back to the call" }).click();
    await tab.page.getByRole("button", { name: "Mute the microphone" }).click();
    assert.deepEqual(
      await tab.page.evaluate(() => globalThis.seen.streams[0].getAudioTracks()[0].enabled),
      false,
    );
    await tab.page.getByRole("link", { name: "Files" }).click();
    await bar.getByRole("button", { name: "Hang up" }).click();
    await bar.waitFor({ state: "detached" });
    assert.deepEqual(await tab.devices(), ["ended"]);
    assert.deepEqual(tab.faults, []);
    await tab.close();
  });

  for (const colorScheme of start === startFleet ? [] : ["light", "dark"]) {
    tested(`a call is accessible in ${colorScheme}, wide and narrow`, async () => {
      const tab = await caller(browser, program.url, { options: { colorScheme } });
      await check(tab.page, `dial-${colorScheme}`);
      for (const type of ["Voice call", "Video call"]) {
        await tab.call(type);
        await tab.connected();
        await tab.type("What is Castalia?");
        await tab.page.locator(".caption.assistant").nth(1).waitFor();
        if (type === "Video call") await tab.sees();
        const name = `${type.toLowerCase().replace(" ", "-")}-${colorScheme}`;
        await check(tab.page, name);
        await tab.page.setViewportSize({ width: 360, height: 740 });
        await check(tab.page, `${name}-narrow`);
        await tab.page.setViewportSize({ width: 1280, height: 720 });
        await tab.page.getByRole("button", { name: "Hang up" }).click();
        await check(tab.page, `${name}-over`);
      }
      await tab.close();
    });
  }

  if (start === startFleet) {
    tested("a node that is switched off hands its calls to another", async () => {
      const tab = await caller(browser, program.url);
      await tab.call("Video call");
      await tab.connected();
      await tab.type("Remember me");
      await tab.page.locator(".caption.user", { hasText: "Remember me" }).waitFor();
      await tab.page.locator(".caption.assistant").first().waitFor();
      program.signal("SIGTERM");
      const after = await eventually("another node has the call", async () => {
        const now = await tab.connection();
        return now.made === 2 && now.state === "connected" && now;
      });
      await tab.connected();
      assert.deepEqual(await tab.devices(), ["live", "live"], "the devices are the same");
      await eventually(
        "pictures go on",
        async () => (await tab.connection()).frames > after.frames,
      );
      await tab.page.locator(".caption.user", { hasText: "Remember me" }).waitFor();
      await tab.type("Who are you now?");
      assert.equal(await tab.hears(440), true);
      await tab.close();
    });
  }
}
