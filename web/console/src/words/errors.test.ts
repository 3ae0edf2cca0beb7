import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { inWords } from "./errors";

const file = new URL("../../languages/en.json", import.meta.url);
const { errors } = JSON.parse(readFileSync(file, "utf8")) as { errors: Record<string, string> };

test("a failure is said by its code, in words of the language files", () => {
  const message = "the link is over: it is used up";
  expect(inWords({ status: 403, code: "link_over", message })).toBe(errors["link_over"]);
  expect(inWords({ code: "call_ended", message })).toBe(errors["call_ended"]);
});

test("one by which the server means several things is said with what it said", () => {
  const said = (message: string) => inWords({ status: 403, code: "has_role", message });
  expect(said("They are an operator here: an owner may export them")).toBe(
    `${errors["has_role"]} The server says: They are an operator here: an owner may export them`,
  );
  expect(said("")).toBe(errors["has_role"]);
  expect(inWords({ code: "call_limit", message: "All lines are busy" })).toBe(
    `${errors["call_limit"]} The server says: All lines are busy`,
  );
});

test("one without words of its own is said by its kind, with what the server said", () => {
  const said = (status: number, code?: string) =>
    inWords({ status, code, message: "maxFiles is from 1 to 10000" });
  expect(said(400, "invalid")).toBe(
    "The server did not understand what was sent. The server says: maxFiles is from 1 to 10000",
  );
  expect(said(502)).toContain(errors["unavailable"]);
  expect(said(418)).toContain(errors["invalid"]);
  expect(said(599, "no_such_code")).toContain(errors["internal"]);
  expect(inWords({ status: 404, message: "" })).toBe(errors["not_found"]);
});

test("names that every object has are no codes", () => {
  expect(inWords({ status: 409, code: "constructor", message: "x" })).toContain(errors["conflict"]);
});

test("what never came from the server stays as it is", () => {
  expect(inWords({ message: "No microphone" })).toBe("No microphone");
});
