import { expect, test } from "vitest";
import { operatingAs } from "./operating";

test("a route's role is signed for, and no more", () => {
  expect(operatingAs("viewer")).toEqual({ can: "operator/view", with: "ixo:operator" });
  expect(operatingAs("operator").can).toBe("operator/change");
  expect(operatingAs("owner").can).toBe("operator/own");
  for (const unknown of [undefined, "", "*", "toString"]) {
    expect(operatingAs(unknown).can).toBe("operator/view");
  }
});
