import { expect, test } from "vitest";
import { septets } from "./TelephonePage";

test("extension characters take two septets", () => {
  expect(septets("abc")).toBe(3);
  expect(septets("[€]")).toBe(6);
});
