// Compares the public surface with api.txt, so that no change of it goes unseen.
// With --write it is written anew. Needs a build.
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { URL } from "node:url";
import { format } from "prettier";
import ts from "typescript";

const built = new URL("../dist/index.d.ts", import.meta.url);
const kept = new URL("../api.txt", import.meta.url);

const source = ts.createSourceFile(
  "index.d.ts",
  readFileSync(built, "utf8"),
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
const surface = await format(sorted, { parser: "typescript", printWidth: 100 });

if (process.argv.includes("--write")) {
  writeFileSync(kept, surface);
} else if (readFileSync(kept, "utf8") !== surface) {
  process.stderr.write(
    "The public surface differs from client/api.txt. If that is meant, run `npm run api:write -w client`, look at the difference and commit it.\n",
  );
  process.exit(1);
}
