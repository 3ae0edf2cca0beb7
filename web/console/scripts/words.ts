// Brings the language files into the build: what every page says is one file of each language,
// what one page says is a file that is loaded beside its code. English's first is in the script
// itself, so that nobody waits for it. In tests all of English is there.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath, URL } from "node:url";
import type { Plugin } from "vite";

type Catalogue = Record<string, Record<string, string>>;

interface Language {
  code: string;
  about: Record<string, string>;
  areas: Catalogue;
}

const folder = fileURLToPath(new URL("../languages/", import.meta.url));
const common = ["shell", "identity", "chat", "ui"];
/** The library says these in English by itself. */
const own = "ui";
const id = "virtual:words";

function read(): Language[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
  names.sort((a, b) => Number(b === "en.json") - Number(a === "en.json") || a.localeCompare(b));
  return names.map((name) => {
    const { $language: about = {}, ...areas } = JSON.parse(
      readFileSync(join(folder, name), "utf8"),
    ) as Catalogue;
    return { code: basename(name, ".json"), about, areas };
  });
}

/** The files of all languages by their names. */
function files(languages: Language[], version: string): Map<string, string> {
  const all = new Map<string, string>();
  const put = (code: string, file: string, words: Catalogue) =>
    all.set(`words-${code}-${file}-${version}.js`, `export default ${JSON.stringify(words)};\n`);
  for (const { code, areas } of languages) {
    put(
      code,
      "common",
      Object.fromEntries(Object.entries(areas).filter(([a]) => common.includes(a))),
    );
    for (const [area, texts] of Object.entries(areas)) {
      if (!common.includes(area)) put(code, area, { [area]: texts });
    }
  }
  return all;
}

export function words(): Plugin {
  let base = "/";
  let isTest = false;
  let isBuild = false;
  const languages = read();
  const version = createHash("sha256").update(JSON.stringify(languages)).digest("hex").slice(0, 8);
  return {
    name: "words",
    configResolved(config) {
      base = `${config.base}assets/`;
      isTest = config.mode === "test";
      isBuild = config.command === "build";
    },
    resolveId: (source) => (source === id ? `\0${id}` : undefined),
    load(source) {
      if (source !== `\0${id}`) return undefined;
      const all = Object.entries(languages[0]?.areas ?? {});
      const first = all.filter(([area]) => isTest || (common.includes(area) && area !== own));
      const values = {
        languages: languages.map(({ code, about }) => ({ code, ...about })),
        first: Object.fromEntries(first),
        base,
        version,
      };
      return Object.entries(values)
        .map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};`)
        .join("\n");
    },
    generateBundle() {
      if (!isBuild) return;
      for (const [name, source] of files(languages, version)) {
        this.emitFile({ type: "asset", fileName: `assets/${name}`, source });
      }
    },
    configureServer(server) {
      const all = files(languages, version);
      server.middlewares.use((request, response, next) => {
        const name = basename(request.url?.split("?")[0] ?? "");
        const source = all.get(name);
        if (source === undefined) return next();
        response.setHeader("Content-Type", "text/javascript");
        response.end(source);
      });
    },
  };
}
