// A language model behind the usual API, whose answers the test decides.
import { once } from "node:events";
import { createServer } from "node:http";

export class Model {
  /** answer(conversation) yields texts and {call: name, args} objects. */
  static async start(answer) {
    const model = new Model();
    model.asked = [];
    model.titled = undefined; // a promise that titles wait for
    model.server = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      if (!request.url.endsWith("/chat/completions")) return response.writeHead(404).end("{}");
      const asked = JSON.parse(body);
      const titling = !asked.tools?.length && JSON.stringify(asked.messages[0]).includes("title");
      if (!titling) model.asked.push(asked);
      response.writeHead(200, { "content-type": "text/event-stream" });
      const say = (delta, finish = null) =>
        response.write(`data: ${JSON.stringify({ id: "x", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
      if (titling) await model.titled;
      let calls = 0;
      for await (const part of titling ? ["A title"] : answer(asked)) {
        if (response.destroyed) return;
        if (typeof part === "string") say({ content: part });
        else say({ tool_calls: [{ index: calls, id: `call_${calls++}`, type: "function", function: { name: part.call, arguments: JSON.stringify(part.args) } }] });
      }
      say({}, calls ? "tool_calls" : "stop");
      response.end("data: [DONE]\n\n");
    });
    model.server.listen(0, "127.0.0.1");
    await once(model.server, "listening");
    model.url = `http://127.0.0.1:${model.server.address().port}/v1`;
    return model;
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** What the user said last, and what tools have answered since. */
export function told({ messages }) {
  const at = messages.findLastIndex((message) => message.role === "user");
  const content = messages[at].content;
  const text = typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
  return {
    text: text.split("\n\n<context>\n")[0], // without what the oracle adds
    results: messages.slice(at + 1).filter((message) => message.role === "tool").map((message) => message.content),
  };
}
