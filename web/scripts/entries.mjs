// What can be imported of the package that npm runs this for, but for the worker: the
// names of the files in dist, as package.json exports them.
import { readFileSync } from "node:fs";
import process from "node:process";

/** The folder of the package. */
export const folder = process.cwd();

export const about = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));

export const entries = Object.entries(about.exports).flatMap(([path, target]) =>
  target.import?.default?.endsWith(".js") && target.require
    ? [path === "." ? "index" : path.slice(2)]
    : [],
);
