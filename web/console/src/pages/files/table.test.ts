import { expect, test } from "vitest";
import { mostColumns, mostRows, readTable } from "./table";

test("cells may be quoted, and hold commas, quotes and lines", () => {
  expect(readTable('a,b\r\n"1,5","say ""hi""\nthere"\n,x').rows).toEqual([
    ["a", "b"],
    ["1,5", 'say "hi"\nthere'],
    ["", "x"],
  ]);
});

test("the first line says what is between the columns", () => {
  expect(readTable("a;b;c\n1,5;2;3\n").rows[1]).toEqual(["1,5", "2", "3"]);
  expect(readTable("a\tb\n1\t2").rows).toEqual([
    ["a", "b"],
    ["1", "2"],
  ]);
  expect(readTable("").rows).toEqual([]);
});

test("as much is read as is shown", () => {
  const tall = readTable("x\n".repeat(mostRows + 5));
  expect([tall.rows.length, tall.isCut]).toEqual([mostRows, true]);
  const wide = readTable(`${"x,".repeat(mostColumns + 5)}\n`);
  expect([wide.rows[0]?.length, wide.isCut]).toEqual([mostColumns, true]);
  expect(readTable("x\n".repeat(mostRows)).isCut).toBe(false);
});
