// A page: a document, storage, and a fetch that keeps the rules of cross-origin
// requests as browsers do. It must be imported before React.
import { JSDOM } from "jsdom";

const origin = "https://portal.example";
const dom = new JSDOM("<!doctype html><div id=root></div>", { url: origin });
for (const name of ["window", "document", "navigator", "localStorage", "HTMLElement", "Node"]) {
  Object.defineProperty(globalThis, name, { value: dom.window[name], configurable: true, writable: true });
}

const plain = globalThis.fetch;
const simpleHeaders = new Set(["accept", "accept-language", "content-language"]);
const readable = new Set(["cache-control", "content-language", "content-length", "content-type", "expires", "last-modified"]);
const list = (value) => (value ?? "").split(",").map((item) => item.trim().toLowerCase());

/** Requests that went out, oldest first: "GET /sessions". */
export const requests = [];
/** Those that have been answered. */
export const answered = [];

async function preflight(url, method, headers) {
  const asked = [...headers.keys()].filter((name) => !simpleHeaders.has(name)).sort();
  const answer = await plain(url, {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": method, "access-control-request-headers": asked.join(",") },
  });
  const allowed = list(answer.headers.get("access-control-allow-headers"));
  if (!answer.ok) throw new TypeError(`preflight of ${method} ${url}: ${answer.status}`);
  for (const name of asked) if (!allowed.includes(name)) throw new TypeError(`preflight: header ${name} is not allowed`);
  if (!list(answer.headers.get("access-control-allow-methods")).includes(method.toLowerCase())) throw new TypeError(`preflight: ${method} is not allowed`);
}

globalThis.fetch = async (input, init = {}) => {
  const url = new URL(input);
  const method = init.method ?? "GET";
  const headers = new Headers(init.headers);
  const line = `${method} ${url.pathname}${url.search}`;
  requests.push(line);
  if (method !== "GET" || [...headers.keys()].some((name) => !simpleHeaders.has(name))) await preflight(url, method, headers);
  headers.set("origin", origin);
  const response = await plain(url, { ...init, headers });
  answered.push(line);
  if (!["*", origin].includes(response.headers.get("access-control-allow-origin"))) throw new TypeError(`${url} is closed to ${origin}`);
  const exposed = list(response.headers.get("access-control-expose-headers"));
  const visible = [...response.headers].filter(([name]) => readable.has(name) || exposed.includes(name));
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers: visible });
};
