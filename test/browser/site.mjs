// Files of a folder by HTTP, as any web server gives them to a page.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";

const media = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

/** Answers a request with a file of the folder. */
export function answerFile(folder, request, reply) {
  const file = new URL(request.url, "http://page").pathname.replace(/\/$/, "/index.html");
  try {
    const content = readFileSync(join(folder, file));
    reply.setHeader("Content-Type", media[extname(file)] ?? "application/octet-stream").end(content);
  } catch {
    reply.writeHead(404).end();
  }
}

/** A server on a port of its own. */
export async function startSite(answer) {
  const server = createServer(answer);
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  server.unref(); // a test that fails does not keep the run open
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
