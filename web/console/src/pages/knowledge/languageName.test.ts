import { expect, test } from "vitest";
import { languageName } from "./languageName";

test("languages of documents have names, and unknown ones have none", () => {
  expect(languageName("sw")).toBe("Swahili");
  expect(languageName("und")).toBe("");
  expect(languageName(undefined)).toBe("");
  expect(languageName("not a tag")).toBe("not a tag");
});
