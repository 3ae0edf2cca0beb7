// Compares the public surface of each entry with its text (api.txt for the main
// one, api-NAME.txt for others), so that no change of it goes unseen. With --write
// they are written anew. Needs a build.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { format } from "prettier";
import ts from "typescript";
import { about, entries, folder } from "./entries.mjs";

for (const entry of entries) {
  const text = entry === "index" ? "api.txt" : `api-${entry}.txt`;
  const kept = `${folder}/${text}`;
  const surface = await surfaceOf(entry);
  if (process.argv.includes("--write")) {
    writeFileSync(kept, surface);
  } else if (!existsSync(kept) || readFileSync(kept, "utf8") !== surface) {
    process.stderr.write(
      `The public surface of ${about.name} differs from ${text}. If that is meant, run \`npm run api:write -w ${about.name}\`, look at the difference and commit it.\n`,
    );
    process.exitCode = 1;
  }
}

async function surfaceOf(entry) {
  const source = ts.createSourceFile(
    `${entry}.d.ts`,
    readFileSync(`${folder}/dist/${entry}.d.ts`, "utf8"),
    ts.ScriptTarget.Latest,
    true,
  );
  const plain = ts
    .createPrinter({ removeComments: true })
    .printFile(source)
    .replace(/^\s*#private;\n/gm, "");
  // One layout whatever made the file; one order, so that only real changes differ.
  const statements = ts
    .createSourceFile("api.d.ts", plain, ts.ScriptTarget.Latest, true)
    .statements.map((statement) => statement.getText());
  const sorted = [...statements].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)).join("\n\n");
  return format(sorted, { parser: "typescript", printWidth: 100 });
}
