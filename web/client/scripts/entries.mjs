// What can be imported of the package, but for the worker: the names of the files in
// dist, as package.json exports them.
import { readFileSync } from "node:fs";
import { URL } from "node:url";

const about = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

export const entries = Object.entries(about.exports).flatMap(([path, target]) =>
  target.import?.default?.endsWith(".js") && target.require
    ? [path === "." ? "index" : path.slice(2)]
    : [],
);
