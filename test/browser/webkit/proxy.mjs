// What a page asks for and what goes wrong in it. WebDriver tells neither, and WebKit writes no console for an automated
// window; so all that it asks goes through here, and every page gets a script of ours before its own.
import { createServer, request as ask } from "node:http";
import { connect } from "node:net";
import { keepChooser } from "../chooser.mjs";

const ours = "/.castalia-test";

/** In every page, before anything else of it. */
function watch(place, tab) {
  const tell = (kind, value) => navigator.sendBeacon(`${place}/told?tab=${tab}`, JSON.stringify({ kind, value }));
  const text = (e) => (e instanceof Error ? e.message : String(e));
  addEventListener("error", (e) => {
    // That a watch of sizes goes on in the next frame is no exception, and no other driver tells of it.
    if (!/^ResizeObserver loop/.test(e.message)) tell("pageerror", e.message ?? text(e.error));
  });
  addEventListener("unhandledrejection", (e) => tell("pageerror", text(e.reason)));
  addEventListener("securitypolicyviolation", (e) => tell("console", `${e.violatedDirective} refuses ${e.blockedURI}`));
  const { error } = console;
  console.error = (...args) => {
    tell("console", args.map(text).join(" "));
    error.apply(console, args);
  };
  const { fetch } = globalThis;
  globalThis.fetch = (what, init) => {
    const { method, url, headers } = what instanceof Request && !init ? what : new Request(what.url ?? what, { method: init?.method, headers: init?.headers });
    tell("request", { method, url, headers: Object.fromEntries(headers) });
    return fetch(what, init);
  };
  const { open } = XMLHttpRequest.prototype;
  XMLHttpRequest.prototype.open = function (method, url, ...rest) {
    tell("request", { method, url: new URL(url, location.href).href, headers: {} });
    return open.call(this, method, url, ...rest);
  };
}

const matches = (pattern, url) => (pattern instanceof RegExp ? pattern.test(url) : glob(pattern).test(url));
const glob = (pattern) =>
  new RegExp(`^${pattern.replace(/[.+^${}()|[\]\\?]/g, "\\$&").replace(/\*\*|\*/g, (star) => (star === "*" ? "[^/]*" : ".*"))}$`);

/** Starts it; tell(tab, kind, value) hears what pages say and what is asked and answered. */
export async function startProxy(tell) {
  const routes = [];
  const scripts = [];
  let tab = 0;
  const page = (html) => html.replace(/<head>|(?=<title>)|(?<=<!doctype html>)/i, (head) => `${head}<script src="${ours}/watch.js?tab=${tab}"></script>`);

  const server = createServer((asked, reply) => {
    const url = new URL(asked.url);
    if (url.pathname === `${ours}/watch.js`) {
      const all = [`(${watch})(${JSON.stringify(ours)}, ${Number(url.searchParams.get("tab"))});`, `(${keepChooser})();`, ...scripts];
      return reply.writeHead(200, { "Content-Type": "text/javascript", "Cache-Control": "no-store" }).end(all.join("\n"));
    }
    const parts = [];
    asked.on("data", (part) => parts.push(part));
    asked.on("error", () => reply.destroy());
    asked.on("end", () => {
      const body = Buffer.concat(parts);
      if (url.pathname === `${ours}/told`) {
        const { kind, value } = JSON.parse(body);
        tell(Number(url.searchParams.get("tab")), kind, value);
        return reply.writeHead(204).end();
      }
      handle({ asked, reply, url, body });
    });
  });

  function handle(one) {
    const request = {
      method: () => one.asked.method,
      url: () => one.url.href,
      headers: () => one.asked.headers,
    };
    // What scripts ask, the pages tell themselves.
    if (one.asked.headers["sec-fetch-dest"] !== "empty") tell(undefined, "request", { method: one.asked.method, url: one.url.href, headers: one.asked.headers });
    tell(undefined, "asked", request);
    const route = routes.findLast(({ pattern }) => matches(pattern, one.url.href));
    if (!route) return forward(one, request);
    return route.handler({
      request: () => request,
      abort: async () => void one.asked.socket.destroy(),
      continue: async () => forward(one, request),
      fulfill: async ({ status = 200, json }) =>
        void one.reply
          .writeHead(status, { "Content-Type": "application/json", "Access-Control-Allow-Origin": "*" })
          .end(JSON.stringify(json)),
    });
  }

  function forward({ asked, reply, url, body }, request) {
    const headers = { ...asked.headers, connection: "close" };
    delete headers["proxy-connection"];
    // A page that the browser had kept would not have our script.
    if (asked.headers["sec-fetch-dest"] === "document") {
      for (const name of ["accept-encoding", "if-none-match", "if-modified-since"]) delete headers[name];
    }
    const onward = ask({ host: url.hostname, port: url.port, path: url.pathname + url.search, method: asked.method, headers });
    reply.once("close", () => onward.destroy());
    onward.once("error", () => asked.socket.destroy());
    onward.once("response", (answer) => {
      tell(undefined, "answered", { url: () => url.href, status: () => answer.statusCode, request: () => request });
      answer.once("error", () => asked.socket.destroy());
      const isPage = asked.headers["sec-fetch-dest"] === "document" && /^text\/html/.test(answer.headers["content-type"] ?? "");
      if (!isPage) {
        reply.writeHead(answer.statusCode, answer.headers);
        reply.flushHeaders();
        answer.pipe(reply);
        return;
      }
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("end", () => {
        const html = String(Buffer.concat(parts));
        // A page whose policy lets no script in stays as it is.
        const isOpen = !/default-src 'none'(?!.*script-src 'self')|sandbox/.test(answer.headers["content-security-policy"] ?? "");
        const text = isOpen ? page(html) : html;
        const { "content-length": _, "transfer-encoding": __, ...kept } = answer.headers;
        reply.writeHead(answer.statusCode, { ...kept, "Content-Length": Buffer.byteLength(text) }).end(text);
      });
    });
    onward.end(body);
  }

  // Sockets, as the browser asks a proxy for them: in one piece, or by a tunnel.
  server.on("upgrade", (asked, socket, head) => {
    const url = new URL(asked.url);
    const line = connect(Number(url.port || 80), url.hostname, () => {
      const headers = asked.rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${asked.rawHeaders[i + 1]}`] : []));
      line.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n`);
      line.write(head);
      line.pipe(socket).pipe(line);
    });
    tie(socket, line);
  });
  server.on("connect", (asked, socket, head) => {
    const { port, hostname } = new URL(`http://${asked.url}`);
    const line = connect(Number(port || 80), hostname, () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      line.write(head);
      line.pipe(socket).pipe(line);
    });
    tie(socket, line);
  });

  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    address: `127.0.0.1:${server.address().port}`,
    /** Whose page the next document is. */
    turnTo: (id) => (tab = id),
    addScript: (script) => scripts.push(script),
    route: (pattern, handler) => routes.push({ pattern, handler }),
    unroute: (pattern) => {
      const kept = routes.filter((route) => String(route.pattern) !== String(pattern));
      routes.splice(0, routes.length, ...kept);
    },
    matches,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function tie(one, other) {
  for (const [a, b] of [
    [one, other],
    [other, one],
  ]) {
    a.on("error", () => b.destroy());
    a.on("close", () => b.destroy());
  }
}
