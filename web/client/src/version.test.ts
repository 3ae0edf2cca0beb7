import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { version } from "./version";

test("the exported version is the published one", () => {
  const published = JSON.parse(
    readFileSync(new URL("../package.json", import.meta.url), "utf8"),
  ) as { version: string };
  expect(version).toBe(published.version);
});
