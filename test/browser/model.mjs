// A model of the OpenAI wire that does what the last message says, word by word.
import { createServer } from "node:http";

/**
 * Understands:
 *   count to N every MS     numbers, one at a time
 *   … hold at K             and no more than K of them before release is called
 *   wait before X           nothing before release is called
 *   think about X           reasoning first, then Markdown
 *   call NAME {json}        a tool call, then what the tool said
 *   load CAPABILITY call NAME {json}   the same with a tool that has to be loaded first
 *   steps with NAME         text, a call, text, a call, text
 *   fail with STATUS        what providers say when they refuse; nobody is to repeat it at once
 * and repeats anything else, attachments included.
 */
export async function startModel() {
  const requests = [];
  let held = [];
  const hold = () => new Promise((done) => held.push(done));
  const server = createServer((request, reply) => {
    // A start asks which models there are; this one does not say.
    if (request.method !== "POST") return void reply.writeHead(404).end();
    let text = "";
    request.on("data", (part) => (text += part));
    request.on("end", () => {
      const body = JSON.parse(text);
      requests.push(body);
      answer(body, reply, hold).catch(() => reply.destroy());
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    requests,
    /** Lets go on what is held. */
    release: () => {
      held.forEach((go) => go());
      held = [];
    },
    stop: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(done);
      }),
  };
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

function textOf(content) {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("");
}

async function answer(body, reply, hold) {
  const last = body.messages.at(-1);
  // Without what the oracle adds.
  const asked = textOf(body.messages.findLast((m) => m.role === "user")?.content).split("\n\n<context>\n")[0];
  const failing = /^fail with (\d+)/.exec(asked);
  if (failing) {
    reply.writeHead(Number(failing[1]), { "Content-Type": "application/json", "X-Should-Retry": "false" });
    return reply.end(JSON.stringify({ error: { message: "The model was taken out of service", type: "invalid_request_error" } }));
  }
  const send = (delta, finish = null) => {
    const chunk = { id: "c", model: body.model, choices: [{ index: 0, delta, finish_reason: finish }] };
    reply.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  const isTitle = !body.tools?.length && /title/i.test(textOf(body.messages[0]?.content));
  if (!body.stream) {
    reply.setHeader("Content-Type", "application/json");
    const message = { role: "assistant", content: isTitle ? title(asked) : asked };
    reply.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }], usage: usage }));
    return;
  }
  reply.setHeader("Content-Type", "text/event-stream");
  const count = /count to (\d+) every (\d+)(?: hold at (\d+))?/.exec(asked);
  const loading = /^load ([\w-]+) (call .*)/s.exec(asked);
  const call = /^call (\w+) (\{.*\})/s.exec(loading?.[2] ?? asked);
  const steps = /^steps with (\w+)/.exec(asked);
  const step = body.messages.length - 1 - body.messages.findLastIndex((m) => m.role === "user");
  if (isTitle) {
    send({ content: title(asked) });
  } else if (steps) {
    send({ content: `Text ${step / 2}. ` });
    if (step < 4) {
      const fn = { name: steps[1], arguments: "{}" };
      send({ tool_calls: [{ index: 0, id: `call_${Math.random()}`, type: "function", function: fn }] }, "tool_calls");
      reply.end("data: [DONE]\n\n");
      return;
    }
  } else if (loading && step < 2) {
    const fn = { name: "load_capability", arguments: JSON.stringify({ name: loading[1] }) };
    send({ tool_calls: [{ index: 0, id: `call_${Math.random()}`, type: "function", function: fn }] }, "tool_calls");
    reply.end("data: [DONE]\n\n");
    return;
  } else if (last.role === "tool" && (!loading || step > 2)) {
    send({ content: `The tool said: ${textOf(last.content)}` });
  } else if (call) {
    const fn = { name: call[1], arguments: call[2] };
    send({ tool_calls: [{ index: 0, id: `call_${Math.random()}`, type: "function", function: fn }] });
    send({}, "tool_calls");
    reply.end("data: [DONE]\n\n");
    return;
  } else if (count) {
    for (let n = 1; n <= Number(count[1]) && !reply.destroyed; n++) {
      send({ content: `n${n} ` });
      await (n === Number(count[3]) ? hold() : pause(Number(count[2])));
    }
  } else if (asked.startsWith("think about")) {
    send({ reasoning_content: "First the spring, then the poets." });
    for (const part of ["## Water\n\n", "It is **clear**, ", "and `cold`.\n\n", "- one\n- two\n\n<img src=x onerror=alert(1)>"]) {
      send({ content: part });
      await pause(10);
    }
  } else {
    if (asked.startsWith("wait before")) await hold();
    send({ content: `You said: ${asked}` });
  }
  send({}, "stop");
  reply.write(`data: ${JSON.stringify({ id: "c", choices: [], usage })}\n\n`);
  reply.end("data: [DONE]\n\n");
}

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

function title(text) {
  return text.replace(/^.*?human: /s, "").split(/\s+/).slice(0, 5).join(" ");
}
