// An MCP server with a tool that sends letters and remembers them, and one that asks which room to book.
import { createServer } from "node:http";

const tool = {
  name: "send",
  description: "Send a letter.",
  inputSchema: { type: "object", properties: { to: { type: "string" }, text: { type: "string" } }, required: ["text"] },
};

const book = { name: "book", description: "Book a room.", inputSchema: { type: "object", properties: {} } };
const whichRoom = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Which room do you want?",
    requestedSchema: {
      type: "object",
      required: ["room"],
      properties: {
        room: { type: "string", title: "Room", enum: ["sea", "hill"], enumNames: ["By the sea", "On the hill"] },
        nights: { type: "integer", title: "Nights", minimum: 1 },
      },
    },
  },
};

export async function startPost() {
  const letters = [];
  const results = {
    initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "post", version: "1" } }),
    "tools/list": () => ({ tools: [tool, book] }),
    "tools/call": ({ name, arguments: letter, inputResponses, requestState }) => {
      if (name === "book") {
        if (!inputResponses) return { resultType: "input_required", inputRequests: { which: whichRoom }, requestState: "desk 7" };
        const { room, nights } = inputResponses.which.content;
        return { content: [{ type: "text", text: `booked ${room} for ${nights} at ${requestState}` }] };
      }
      letters.push(letter);
      return { content: [{ type: "text", text: `sent ${letter.text}` }] };
    },
    ping: () => ({}),
  };
  const server = createServer((request, reply) => {
    let text = "";
    request.on("data", (part) => (text += part));
    request.on("end", () => {
      if (request.method !== "POST") return void reply.writeHead(405).end();
      const { id, method, params } = JSON.parse(text);
      if (id === undefined) return void reply.writeHead(202).end();
      const result = results[method]?.(params ?? {});
      const outcome = result ? { result } : { error: { code: -32601, message: `no method ${method}` } };
      reply.setHeader("Content-Type", "application/json");
      reply.end(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    letters,
    stop: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(done);
      }),
  };
}
