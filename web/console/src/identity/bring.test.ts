import { newKey, exportKey, privateText } from "@castalia/oracles-client/wallet";
import { expect, test } from "vitest";
import { readKey } from "./bring";
import { drawCode } from "./drawCode";
import { codeIn } from "./readCode";
import { wordsOf } from "./words";

test("a key is the same in each of its texts", async () => {
  const key = newKey();
  for (const text of [exportKey(key), `${privateText(key)}\n`, wordsOf(key.seed).join("\n")]) {
    expect((await readKey(text)).did).toBe(key.did);
  }
});

test.each(["", "exotic", "M", "Mxyz", "ab".repeat(31), "https://oracle.example/s/abc"])(
  "%j is no key, and is not repeated",
  async (text) => {
    await expect(readKey(text)).rejects.toThrow(/^This is not a key/);
  },
);

/** A code as a camera sees it: light around, and four pixels to a module. */
function seen(rows: boolean[][], scale = 4) {
  const width = rows.length * scale;
  const data = new Uint8ClampedArray(width * width * 4).fill(255);
  for (let y = 0; y < width; y++) {
    for (let x = 0; x < width; x++) {
      if (!rows[Math.floor(y / scale)]?.[Math.floor(x / scale)]) continue;
      data.fill(0, (y * width + x) * 4, (y * width + x) * 4 + 3);
    }
  }
  return { data, width, height: width };
}

test("the code of a key holds its digits and is read back", () => {
  const digits = exportKey(newKey());
  expect(codeIn(seen(drawCode(digits)), true)).toBe(digits);
});

test("where there is no code, none is found", () => {
  expect(
    codeIn({ data: new Uint8ClampedArray(200 * 200 * 4), width: 200, height: 200 }, true),
  ).toBe(undefined);
});
