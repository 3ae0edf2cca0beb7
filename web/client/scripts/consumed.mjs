// Uses the packed package as a page of somebody else's would: unpacked beside
// React 18 and React 19, imported and required, with a turn to its end; its core
// where there is no React; and reads the pages of the guide and the README as a
// strict compiler does. Needs a build.
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createRequire } from "node:module";
import process from "node:process";
import { fileURLToPath, URL } from "node:url";

const client = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "castalia-consumer-"));
const run = (program, args, cwd = client) =>
  execFileSync(program, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

/** Where a package lies for who asks from a folder. */
const home = (name, from) =>
  dirname(createRequire(join(from, "package.json")).resolve(`${name}/package.json`));

const page = `
const dom = new JSDOM("<div id=root></div>", { url: "http://page.test" });
Object.assign(globalThis, { window: dom.window, document: dom.window.document, localStorage: dom.window.localStorage });
globalThis.fetch = () => Promise.reject(new Error("a request left the page"));
const h = React.createElement;
const oracle = new FakeOracle();
oracle.respond = (message) => ({ text: "About " + message + ": yes." });
const shown = new Promise((done) => {
  function Page() {
    const chat = useChat({ oracleDid: oracle.did, sessionId: "$s", onPaymentRequiredError() {} });
    const { sendMessage, isRealTimeConnected, messages, status } = chat;
    const said = React.useRef(false);
    React.useEffect(() => {
      if (!isRealTimeConnected || said.current) return;
      said.current = true;
      sendMessage("rain");
    }, [isRealTimeConnected, sendMessage]);
    const text = messages.map((m) => m.content).join("|");
    React.useEffect(() => {
      if (status === "ready" && text === "rain|About rain: yes.") done();
    }, [status, text]);
    return h("ul", null, messages.map((m) => h("li", { key: m.id }, renderMessageContent(m.content))));
  }
  createRoot(document.getElementById("root")).render(
    h(React.StrictMode, null, h(FakeOraclesProvider, { oracle }, h(Page))),
  );
});
shown.then(() => {
  console.log(React.version + " " + document.getElementById("root").innerHTML + " " + typeof useLiveAgent);
  process.exit(0);
});
`;
const names = [
  ["* as React", "react"],
  ["{ createRoot }", "react-dom/client"],
  ["{ JSDOM }", "jsdom"],
  ["{ renderMessageContent, useChat }", "@castalia/oracles-client"],
  ["{ FakeOracle, FakeOraclesProvider }", "@castalia/oracles-client/testing"],
  ["{ useLiveAgent }", "@castalia/oracles-client/live-agent"],
];
const programs = {
  "page.mjs": names.map(([what, from]) => `import ${what} from "${from}";`),
  "page.cjs": names.map(
    ([what, from]) => `const ${what.replace("* as ", "")} = require("${from}");`,
  ),
};
const guide = "../../docs/guides/client.md";
const withoutReact = {
  "bare.mjs":
    'import { createOracles } from "@castalia/oracles-client/core"; import { newKey } from "@castalia/oracles-client/wallet";',
  "bare.cjs":
    'const { createOracles } = require("@castalia/oracles-client/core"); const { newKey } = require("@castalia/oracles-client/wallet");',
};

/** Puts the package alone into a site's node_modules. */
function unpack(packed, site) {
  const modules = join(site, "node_modules");
  const to = join(modules, "@castalia/oracles-client");
  mkdirSync(to, { recursive: true });
  run("tar", ["xzf", packed, "--strip-components=1", "-C", to]);
  return modules;
}

/** What a page tells its readers to write. */
function toldIn(page, where) {
  return where.exec(readFileSync(join(client, page), "utf8"))[1];
}

/** Reads a file as a strict compiler does, declarations of the package included. */
function compile(file, site, ...more) {
  const how = ["--strict", "--noEmit", "--jsx", "react-jsx", "--target", "es2022"];
  const where = ["--module", "esnext", "--moduleResolution", "bundler", ...more];
  run(
    process.execPath,
    [join(home("typescript", client), "bin/tsc"), ...how, ...where, file],
    site,
  );
}

try {
  run("npm", ["pack", "--ignore-scripts", "--pack-destination", folder]);
  const packed = join(
    folder,
    readdirSync(folder).find((name) => name.endsWith(".tgz")),
  );
  for (const [version, from] of Object.entries({ 18: join(client, "../react18"), 19: client })) {
    const site = join(folder, `react-${version}`);
    const modules = unpack(packed, site);
    for (const name of ["react", "react-dom"]) symlinkSync(home(name, from), join(modules, name));
    symlinkSync(home("zod", client), join(modules, "zod"));
    symlinkSync(home("jsdom", client), join(modules, "jsdom"));
    for (const [name, head] of Object.entries(programs)) {
      writeFileSync(join(site, name), head.join("\n") + page);
      const said = run(process.execPath, [name], site).trim();
      const want = "<ul><li>rain</li><li>About rain: yes.</li></ul> function";
      if (!said.startsWith(`${version}.`) || !said.endsWith(want)) {
        throw new Error(`${name} with React ${version} said ${said}`);
      }
    }
  }
  const bare = join(folder, "bare");
  unpack(packed, bare);
  for (const [name, head] of Object.entries(withoutReact)) {
    writeFileSync(join(bare, name), `${head} console.log(typeof createOracles, typeof newKey);`);
    const said = run(process.execPath, [name], bare).trim();
    if (said !== "function function") throw new Error(`${name} without React said ${said}`);
  }
  writeFileSync(join(bare, "told.ts"), toldIn(guide, /## Without React\n.*?```ts\n(.*?)```/s));
  compile("told.ts", bare);
  const site = join(folder, "react-19");
  const types = join(site, "node_modules/@types");
  mkdirSync(types);
  for (const name of ["react", "react-dom"])
    symlinkSync(home(`@types/${name}`, client), join(types, name));
  symlinkSync(home("csstype", client), join(site, "node_modules/csstype"));
  for (const page of [guide, "README.md"]) {
    const code = toldIn(page, /```tsx\n(.*?)```/s);
    writeFileSync(join(site, "told.tsx"), `${code}\nexport { Chat, OraclesProvider };\n`);
    compile("told.tsx", site, "--types", "react");
  }
  process.stdout.write(
    "the package works in a page with React 18, 19 and without, imported and required, as it is told\n",
  );
} catch (error) {
  process.stderr.write(`${error.stdout ?? ""}${error.stderr ?? ""}${error}\n`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
