// Writes the snippets of every route of a running server as JSON, and says which of those in
// JavaScript are none. Usage: node snippets.mjs SNIPPETS.JS ORIGIN
import { readFileSync } from "node:fs";
import { Script } from "node:vm";

const [file, origin] = process.argv.slice(2);
// A .js file outside of a package: Node would have to guess what it is.
const page = await import(`data:text/javascript;base64,${readFileSync(file).toString("base64")}`);
const read = async (path) => (await fetch(origin + path)).json();
const doc = await read("/docs-json");
const { id: did } = await read("/.well-known/did.json");

const imports = /^import .*$/gm;
const out = page.operations(doc).map(({ verb, path, op }) => {
  const request = page.requestOf({ origin, verb, path, op });
  const snippets = Object.fromEntries(page.languages.map(([name]) => [name, page.snippet(name, request)]));
  let problem = "";
  try {
    new Script(`(async () => {${snippets.javascript.replace(imports, "")}})`);
  } catch (cause) {
    problem = String(cause);
  }
  const credential = page.credentialCommands({ verb, op, origin, did });
  return { route: `${verb.toUpperCase()} ${path}`, auth: op["x-auth"], url: request.url, credential, snippets, problem };
});
process.stdout.write(JSON.stringify(out));
