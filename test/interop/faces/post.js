// A tool that people want to be asked about, as an MCP server of the oracle's: "send", which counts what it sent.
import { once } from "node:events";
import { createServer } from "node:http";

export class Post {
  sent = [];

  static async start() {
    const post = new Post();
    post.server = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      if (request.method !== "POST") return response.writeHead(405).end();
      const { id, method, params } = JSON.parse(body);
      if (id === undefined) return response.writeHead(202).end();
      const result = post.answer(method, params);
      const reply = result ? { jsonrpc: "2.0", id, result } : { jsonrpc: "2.0", id, error: { code: -32601, message: "no such method" } };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reply));
    });
    post.server.listen(0, "127.0.0.1");
    await once(post.server, "listening");
    post.url = `http://127.0.0.1:${post.server.address().port}/mcp`;
    return post;
  }

  answer(method, params) {
    switch (method) {
      case "initialize":
        return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "post", version: "1" } };
      case "tools/list":
        return { tools: [{ name: "send", description: "Send a letter.", inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] } }] };
      case "tools/call":
        this.sent.push(params.arguments.text);
        return { content: [{ type: "text", text: `sent ${params.arguments.text}` }] };
    }
  }

  /** What the program needs to know of it. */
  get env() {
    return { MCP_SERVERS: `post=${this.url}`, MCP_PRIVATE: "true", APPROVE_MCP_TOOLS: "true", PRINCIPAL_RATE_LIMIT_PER_MINUTE: "0" };
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
