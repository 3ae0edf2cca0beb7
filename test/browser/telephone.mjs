// A caller: a tab on the console's call page, with what a person would notice.
import { eventually } from "./world.mjs";

/** Switches that give Chromium a camera and a microphone without asking. */
export const devices = [
  "--use-fake-device-for-media-stream=device-count=2",
  "--use-fake-ui-for-media-stream",
  "--autoplay-policy=no-user-gesture-required",
];

/** The same, and what the file says is said over and over. */
export const speaking = (file) => [...devices, `--use-file-for-fake-audio-capture=${file}`];

/** Remembers what the page opens, so that a test can ask about it. */
export function remember() {
  const connections = [];
  const streams = [];
  const answers = [];
  Object.assign(globalThis, { seen: { connections, streams, answers } });
  globalThis.RTCPeerConnection = class extends globalThis.RTCPeerConnection {
    constructor(...args) {
      super(...args);
      connections.push(this);
    }
    setRemoteDescription(answer) {
      answers.push(answer);
      return super.setRemoteDescription(answer);
    }
  };
  const media = navigator.mediaDevices;
  if (!media) return; // the empty page that a tab begins with
  const open = media.getUserMedia.bind(media);
  media.getUserMedia = async (wanted) => {
    const stream = await open(wanted);
    streams.push(stream);
    return stream;
  };
}

/** A fresh user on the call page, and everything that went wrong on it. */
export async function caller(browser, url, { options = {}, prepare } = {}) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(60_000);
  const tab = await opened(context, url, prepare);
  await tab.page.getByRole("button", { name: "Make a key and enter" }).click();
  await tab.page.getByRole("heading", { name: "Call your oracle" }).waitFor();
  return tab;
}

/** A tab on the call page. */
async function opened(context, url, prepare) {
  const page = await context.newPage();
  const faults = [];
  /** How many calls were made here. */
  const dialled = { count: 0 };
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
  page.on("request", (request) => {
    if (request.method() === "POST" && new URL(request.url()).pathname === "/calls")
      dialled.count++;
  });
  await page.addInitScript(remember);
  await prepare?.(page);
  await page.goto(`${url}/console/call`);
  const status = page.locator(".going-on [role=status]");
  return {
    page,
    faults,
    status,
    dialled,
    /** Another tab of the same person. */
    another: () => opened(context, url),
    /** What is sent of a kind: by which device, and how much of it so far. */
    sends: (kind) =>
      page.evaluate(async (kind) => {
        const newest = globalThis.seen.connections.at(-1);
        const sender = newest?.getSenders().find((s) => s.track?.kind === kind);
        const stats = [...((await sender?.getStats()) ?? new Map()).values()];
        return {
          name: sender?.track.label,
          track: sender?.track.id,
          packets: stats.find((s) => s.type === "outbound-rtp")?.packetsSent ?? 0,
        };
      }, kind),
    close: () => context.close(),
    call: (name) => page.getByRole("button", { name }).click(),
    connected: () => status.filter({ hasText: /Listening|Thinking|Speaking|Connected/ }).waitFor(),
    /** Types with the microphone muted: the made-up one beeps, and a caller who speaks interrupts. */
    async type(text) {
      const mute = page.getByRole("button", { name: "Mute the microphone" });
      if ((await mute.getAttribute("aria-pressed")) === "false") await mute.click();
      await page.getByLabel("Type instead of speaking").fill(text);
      await page.getByRole("button", { name: "Send" }).click();
    },
    /** Whether the loudest tone of what is heard is about so many hertz. */
    hears: (hertz) => hears(page, hertz),
    /** Waits for a picture that is not black, and that changes. */
    sees: () =>
      eventually("a picture is seen", () =>
        page.evaluate(() => {
          const video = document.querySelector("video.theirs");
          if (!video?.videoWidth) return false;
          const canvas = Object.assign(document.createElement("canvas"), { width: 64, height: 48 });
          const drawing = canvas.getContext("2d");
          drawing.drawImage(video, 0, 0, 64, 48);
          const { data } = drawing.getImageData(0, 0, 64, 48);
          return data.some((value, i) => i % 4 < 3 && value > 60);
        }),
      ),
    /** What the newest connection says about itself. */
    connection: () =>
      page.evaluate(async () => {
        const { connections, answers } = globalThis.seen;
        const newest = connections.at(-1);
        if (!newest) return { made: 0, answers: answers.length };
        const stats = [...(await newest.getStats()).values()];
        const pair = stats.find((s) => s.type === "candidate-pair" && s.nominated);
        const local = stats.find((s) => s.id === pair?.localCandidateId);
        const frames = stats.find((s) => s.type === "inbound-rtp" && s.kind === "video");
        return {
          made: connections.length,
          answers: answers.length,
          state: newest.connectionState,
          way: local?.candidateType,
          name: /a=ice-ufrag:(\S+)/.exec(newest.localDescription?.sdp ?? "")?.[1],
          frames: frames?.framesDecoded ?? 0,
        };
      }),
    /** How different a JPEG is from what the camera shows: 0 is equal, 255 black against white. */
    unlike: (jpeg) =>
      page.evaluate(async (base64) => {
        const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
        const theirs = await createImageBitmap(new Blob([bytes], { type: "image/jpeg" }));
        const camera = globalThis.seen.streams.at(-1).getVideoTracks()[0];
        const video = Object.assign(document.createElement("video"), {
          muted: true,
          srcObject: new MediaStream([camera]),
        });
        await video.play();
        const [width, height] = [32, 24];
        const pixels = (picture) => {
          const canvas = Object.assign(document.createElement("canvas"), { width, height });
          const drawing = canvas.getContext("2d");
          drawing.drawImage(picture, 0, 0, width, height);
          return drawing.getImageData(0, 0, width, height).data;
        };
        const [a, b] = [pixels(theirs), pixels(video)];
        video.srcObject = null;
        return {
          width: theirs.width,
          height: theirs.height,
          byPixel:
            a.reduce((sum, value, i) => sum + Math.abs(value - b[i]), 0) / (3 * width * height),
          ofBlack:
            b.reduce((sum, value, i) => sum + (i % 4 < 3 ? value : 0), 0) / (3 * width * height),
        };
      }, jpeg.toString("base64")),
    /** What became of camera and microphone. */
    devices: () =>
      page.evaluate(() =>
        globalThis.seen.streams.flatMap((stream) => stream.getTracks()).map((t) => t.readyState),
      ),
  };
}

function hears(page, hertz) {
  return eventually(`${hertz} Hz is heard`, () => page.evaluate(heardTone, hertz));
}

/** In a page: whether the loudest tone of what is heard, for a second, is about so many hertz. */
async function heardTone(hertz) {
  const stream = document.querySelector("audio")?.srcObject;
  if (!stream?.getAudioTracks().length) return false;
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  analyser.fftSize = 4096;
  context.createMediaStreamSource(stream).connect(analyser);
  const bins = new Float32Array(analyser.frequencyBinCount);
  const until = performance.now() + 1000;
  let heard = false;
  while (!heard && performance.now() < until) {
    await new Promise((done) => setTimeout(done, 50));
    analyser.getFloatFrequencyData(bins);
    const loudest = bins.reduce((best, level, i) => (level > bins[best] ? i : best), 0);
    const at = (loudest * context.sampleRate) / analyser.fftSize;
    heard = bins[loudest] > -60 && Math.abs(at - hertz) < 15;
  }
  await context.close();
  return heard;
}
