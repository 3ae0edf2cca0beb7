import { expect, test } from "vitest";
import { english } from "./labels";
import { argumentsInWords, nameOf } from "./toolWords";

test("a tool is called by its own name, and its server by the server's", () => {
  expect(nameOf("post__send_letter")).toEqual({ tool: "send letter", server: "post" });
  expect(nameOf("delete_file")).toEqual({ tool: "delete file", server: "" });
  expect(nameOf("__")).toEqual({ tool: "__", server: "" });
});

test("arguments are told in words", () => {
  const args = {
    to: "Amina",
    isUrgent: true,
    copies: 2,
    cc: ["a", "b"],
    note: null,
    more: { a: 1 },
  };
  expect(argumentsInWords(args, english)).toEqual([
    ["to", "Amina"],
    ["is urgent", "yes"],
    ["copies", "2"],
    ["cc", "a, b"],
    ["note", "nothing"],
    ["more", '{\n  "a": 1\n}'],
  ]);
});
