// Bundles each entry as a page would, without React and zod, and refuses one
// that has grown over its limit. The main entry has nothing of the live agent in
// it. Needs a build.
import process from "node:process";
import { URL } from "node:url";
import { gzipSync } from "node:zlib";
import { bundled } from "../../scripts/bundled.mjs";

/** What only calls need; a main entry that knows of it carries the live agent. */
const ofCalls = /RTCPeerConnection|call_offer|castalia-call|getUserMedia|onrtctransform/;

/** What only the live channel needs. */
const ofLines = /socket\.io/;

const modules = [
  { file: "index.js", what: "main entry", limit: 25_000, without: ofCalls },
  {
    file: "core.js",
    what: "core entry",
    limit: 20_480,
    without: new RegExp(`${ofCalls.source}|["'\`]react`),
  },
  {
    file: "live-agent.js",
    what: "live-agent entry",
    limit: 10_240,
    without: ofLines,
  },
  // What it shares with the main entry comes along here, and once in a page that has both.
  { file: "approvals.js", what: "approvals entry", limit: 4_000, without: ofLines },
  {
    file: "attachments.js",
    what: "attachments entry",
    limit: 4_500,
    without: ofLines,
  },
  { file: "files.js", what: "files entry", limit: 4_500, without: ofLines },
  { file: "query.js", what: "query entry", limit: 2_500, without: ofLines },
  { file: "knowledge.js", what: "knowledge entry", limit: 4_000, without: ofLines },
  { file: "wallet.js", what: "wallet entry", limit: 13_500, without: ofLines },
];

// What a page has that is a chat and nothing else.
const chatAlone = {
  file: "../scripts/chat-alone.js",
  what: "chat alone",
  limit: 20_000,
  without: ofCalls,
};

// Who requires them gets no more than who imports them, but for the wrapping.
const required = modules.map((entry) => ({
  ...entry,
  file: entry.file.replace(/js$/, "cjs"),
  what: `required-${entry.what}`,
  limit: entry.limit + 1000,
}));

for (const { file, what, limit, without } of [...modules, chatAlone, ...required]) {
  const code = await bundled(new URL(`../dist/${file}`, import.meta.url), [/^react/, /^zod/]);
  const size = gzipSync(code, { level: 9 }).length;
  process.stdout.write(`${what}: ${size} bytes gzip, limit ${limit}\n`);
  const stray = without.exec(code);
  if (stray) process.stderr.write(`${what} has ${stray[0]} in it, which belongs elsewhere\n`);
  if (size > limit || stray) process.exitCode = 1;
}
