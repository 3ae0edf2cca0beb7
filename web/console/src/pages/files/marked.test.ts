import { expect, test } from "vitest";
import { marked } from "./marked";

const hits = (text: string, search: string) =>
  marked(text, search)
    .map((p) => (p.hit ? `<${p.text}>` : p.text))
    .join("");

test("words are marked from their beginning", () => {
  expect(hits("Bees dance; the beehive sings.", "bee DANCE")).toBe(
    "<Bees> <dance>; the <beehive> sings.",
  );
  expect(hits("unbeelievable", "bee")).toBe("unbeelievable");
  expect(hits("a.b", "a.b(")).toBe("a.b");
  expect(hits("Größe zählt", "größe")).toBe("<Größe> zählt");
});
