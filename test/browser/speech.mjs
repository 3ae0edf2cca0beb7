// Speech for tests: a voice that is made of sums of sines, and services that
// understand and speak it as the OpenAI-compatible ones do.
import { createServer } from "node:http";

const tau = 2 * Math.PI;

/** Samples of a sound that browsers take for a voice: harmonics of a pitch, in syllables. */
function voice(pitch, seconds, rate) {
  return Float32Array.from({ length: Math.round(seconds * rate) }, (_, i) => {
    const t = i / rate;
    const syllable = Math.max(0, Math.sin(tau * 2.5 * t)) ** 0.5;
    const at = pitch * t + 0.1 * Math.sin(tau * 3 * t);
    let sum = 0;
    for (let n = 1; n <= 20; n++) sum += Math.sin(tau * n * at) / (1 + (n * pitch) / 900);
    return 0.12 * syllable * sum;
  });
}

function samples(floats) {
  const bytes = Buffer.alloc(floats.length * 2);
  floats.forEach((f, i) =>
    bytes.writeInt16LE(Math.round(Math.max(-1, Math.min(1, f)) * 32767), 2 * i),
  );
  return bytes;
}

/** A WAVE file in which somebody of that pitch speaks, then is silent; players repeat it. */
export function spokenFile(pitch, speech, silence) {
  const rate = 48_000;
  const data = Buffer.concat([
    samples(voice(pitch, speech, rate)),
    Buffer.alloc(Math.round(silence * rate) * 2),
  ]);
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + data.length, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(data.length, 40);
  return Buffer.concat([head, data]);
}

/** The pitch of a WAVE file's voice: where it is most like itself a moment later. */
export function pitchOf(wave) {
  const rate = wave.readUInt32LE(24);
  const at = wave.indexOf("data") + 8;
  const sound = Float32Array.from({ length: (wave.length - at) >> 1 }, (_, i) =>
    wave.readInt16LE(at + 2 * i),
  );
  let best = { like: 0, lag: 0 };
  for (let lag = Math.floor(rate / 320); lag <= rate / 80; lag++) {
    let like = 0;
    for (let i = 0; i + lag < sound.length; i++) like += sound[i] * sound[i + lag];
    like /= sound.length - lag;
    if (like > best.like * 1.05) best = { like, lag };
  }
  return rate / best.lag;
}

function read(request) {
  return new Promise((done) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => done(Buffer.concat(parts)));
  });
}

/**
 * Services on one port: transcriptions of what sounds like the pitch, speech as a
 * tone, and a model that answers word by word, slowly if the test says so.
 */
export async function startSpeech({ pitch, sentence, tone, answer }) {
  const seen = { transcriptions: 0, spoken: [], asked: [], cut: 0, finished: 0 };
  const server = createServer(async (request, response) => {
    const body = await read(request);
    if (request.url === "/v1/audio/transcriptions") {
      const wave = body.subarray(body.indexOf("RIFF"));
      const heard = pitchOf(wave.subarray(0, 8 + wave.readUInt32LE(4)));
      seen.transcriptions++;
      response.setHeader("Content-Type", "application/json");
      response.end(
        JSON.stringify({ text: Math.abs(heard - pitch) < 12 ? sentence : `noise of ${heard}` }),
      );
    } else if (request.url === "/v1/audio/speech") {
      const { input } = JSON.parse(body);
      seen.spoken.push(input);
      response.setHeader("Content-Type", "audio/pcm");
      const length = Math.min(4, 0.3 + input.length * 0.05) * 24_000;
      response.end(
        samples(Float32Array.from({ length }, (_, i) => 0.4 * Math.sin((tau * tone * i) / 24_000))),
      );
    } else if (request.url === "/v1/chat/completions") {
      const { messages, stream } = JSON.parse(body);
      seen.asked.push(messages.at(-1).content);
      if (!stream)
        return response.end(JSON.stringify({ choices: [{ message: { content: "Weather" } }] }));
      response.setHeader("Content-Type", "text/event-stream");
      response.on("close", () => (response.writableFinished ? seen.finished++ : seen.cut++));
      for (const word of answer.text.split(/(?<= )/)) {
        if (response.destroyed) return;
        const chunk = { choices: [{ index: 0, delta: { content: word }, finish_reason: null }] };
        response.write(`data: ${JSON.stringify(chunk)}\n\n`);
        await new Promise((done) => setTimeout(done, answer.pause));
      }
      const last = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
      response.end(`data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`);
    } else response.writeHead(404).end();
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${server.address().port}/v1`;
  return {
    seen,
    env: {
      SPEECH_TO_TEXT_URL: url,
      TEXT_TO_SPEECH_URL: url,
      MODEL_PROVIDER: "openai",
      OPENAI_BASE_URL: url,
      OPENAI_API_KEY: "sk-test",
      MODEL: "speaker",
    },
    stop: () => new Promise((done) => (server.closeAllConnections(), server.close(done))),
  };
}
