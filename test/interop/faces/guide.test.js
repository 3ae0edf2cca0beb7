// What the guide "Connect your program" shows is run as it stands, but for the address.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync, rmSync } from "node:fs";
import { delimiter, dirname, resolve } from "node:path";
import { after, before, it } from "node:test";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { binary, environment } from "../world.mjs";
import { start } from "./world.js";

const here = dirname(fileURLToPath(import.meta.url));
const guide = readFileSync(resolve(here, "../../../docs/guides/connect.md"), "utf8");
const blocks = [...guide.matchAll(/```(\w+)\n([\s\S]*?)```/g)].map(([, language, text]) => ({ language, text }));

let ours;
before(async () => (ours = await start()));
after(() => ours?.stop());

function run(file, args, env = {}) {
  return new Promise((done, fail) => {
    execFile(
      file,
      args,
      { cwd: here, env: { ...environment, PATH: `${dirname(binary)}${delimiter}${process.env.PATH}`, HOME: ours.world.folder, ...env } },
      (error, stdout, stderr) => (error ? fail(new Error(stderr, { cause: error })) : done(stdout)),
    );
  });
}

it("is what works", async () => {
  const [makeKey, curl] = blocks.filter(({ language }) => language === "sh").map(({ text }) => text.replaceAll("http://127.0.0.1:3000", ours.url));
  const printed = await run("sh", ["-ec", makeKey.replaceAll("me.key", `${ours.world.folder}/guide.key`)]);
  const env = { CASTALIA_APP_KEY: printed.match(/cak_[a-z0-9]+/)[0] };
  assert.match(await run("sh", ["-ec", curl], env), /data: \[DONE\]/);
  const script = resolve(here, "guide-example.tmp.mjs"); // beside the packages that it imports
  for (const { text } of blocks.filter(({ language }) => language === "js")) {
    writeFileSync(script, text.replaceAll("http://127.0.0.1:3000", ours.url));
    try {
      assert.equal(await run(process.execPath, [script], env), "Turn 1: What can you do?");
    } finally {
      rmSync(script);
    }
  }
});

it("has settings for agents that work", async (t) => {
  const { url, headers } = JSON.parse(blocks.find(({ language }) => language === "json").text).mcpServers.oracle;
  const own = JSON.parse(JSON.stringify(headers).replace("cak_…", ours.key));
  const client = new Client({ name: "castalia-guide", version: "1.0.0" });
  t.after(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(url.replace("https://your-host", ours.url)), { requestInit: { headers: own } }));
  const { content } = await client.callTool({ name: "ask_oracle", arguments: { question: "What can you do?" } });
  assert.equal(content[0].text, "Turn 1: What can you do?");
});
