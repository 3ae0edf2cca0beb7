// The example's own server: it signs with a key in a file, by the program's command line.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { URL } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * Answers /host and /mint/…; calls next for everything else.
 *
 * @param {{ server: string, binary: string, keyFile: string }} options
 */
export function minting({ server, binary, keyFile }) {
  const castalia = async (...args) => (await run(binary, args)).stdout.trim();
  const ready = (async () => {
    if (!existsSync(keyFile)) await castalia("key", "new", "--out", keyFile);
    const did = await globalThis.fetch(`${server}/.well-known/did.json`);
    const oracleDid = (await did.json()).id;
    return { server, oracleDid, userDid: await castalia("key", "show", keyFile) };
  })();
  const answer = async (url) => {
    const host = await ready;
    if (url.pathname === "/host") return host;
    const kind = url.pathname.slice("/mint/".length);
    const serialized = await castalia(
      ...["ucan", kind === "delegation" ? "delegate" : "invoke", "--key", keyFile],
      ...["--audience", url.searchParams.get("audience") ?? host.oracleDid],
      ...["--can", "*", "--with", "ixo:oracle", "--ttl", "600s"],
    );
    return { serialized, expiresAt: Date.now() + 600_000 };
  };
  return (request, reply, next) => {
    const url = new URL(request.url, "http://example");
    if (url.pathname !== "/host" && !url.pathname.startsWith("/mint/")) return next();
    answer(url).then(
      (body) => reply.setHeader("Content-Type", "application/json").end(JSON.stringify(body)),
      (cause) => reply.writeHead(502).end(String(cause)),
    );
  };
}
