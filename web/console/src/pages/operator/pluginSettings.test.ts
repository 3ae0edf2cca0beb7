import { expect, test } from "vitest";
import { changesOf, shownValue, type PluginSetting } from "./pluginSettings";

const plain: PluginSetting = {
  name: "HELLO_GREETING",
  doc: "",
  kind: "text",
  allowed: "a text",
  default: "Hello",
  value: "Hello",
  secret: false,
  given: true,
  source: "default",
  readOnly: false,
  stored: false,
  restart: false,
};
const secret: PluginSetting = {
  ...plain,
  name: "HELLO_TOKEN",
  secret: true,
  value: "",
  default: "",
};

test("a field shows what will be in force, and no secret", () => {
  expect(shownValue(plain)).toBe("Hello");
  expect(shownValue({ ...plain, stored: true, next: "Jambo", restart: true })).toBe("Jambo");
  expect(shownValue({ ...plain, value: "Hola", readOnly: true, stored: true, next: "Jambo" })).toBe(
    "Hola",
  );
  expect(shownValue({ ...secret, stored: true, given: true })).toBe("");
});

test("only what was changed is sent", () => {
  expect(changesOf([plain, secret], {})).toEqual({});
  expect(changesOf([plain, secret], { HELLO_GREETING: "Hello " })).toEqual({});
  expect(changesOf([plain, secret], { HELLO_GREETING: "Jambo", HELLO_TOKEN: "hush" })).toEqual({
    HELLO_GREETING: "Jambo",
    HELLO_TOKEN: "hush",
  });
  const stored = { ...plain, stored: true, next: "Jambo" };
  expect(changesOf([stored], { HELLO_GREETING: "" })).toEqual({ HELLO_GREETING: null });
  expect(changesOf([stored], { HELLO_GREETING: "Hello" })).toEqual({ HELLO_GREETING: null });
  expect(changesOf([{ ...plain, readOnly: true }], { HELLO_GREETING: "x" })).toEqual({});
});
