import { expect, test } from "vitest";
import { markedAnywhere } from "./marked";

const shown = (parts: { text: string; isFound: boolean }[]) =>
  parts.map((p) => (p.isFound ? `[${p.text}]` : p.text));

test("what a search looks for is marked, in any case, whatever is searched for", () => {
  const found = (text: string, search: string) => shown(markedAnywhere(text, search));
  expect(found("Äpfel, then pears", "äpfel PEARS")).toEqual(["[Äpfel]", ", then ", "[pears]"]);
  expect(found("a.b (c) a+b", "a+b (c)")).toEqual(["a.b ", "[(c)]", " ", "[a+b]"]);
  expect(found("nothing", " ")).toEqual(["nothing"]);
  expect(found("", "x")).toEqual([]);
});
