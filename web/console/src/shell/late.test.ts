import { expect, test, vi } from "vitest";
import { unlessGone } from "./late";

test.each([true, false])("answers reach whoever is there: %s", async (here) => {
  const got = vi.fn();
  const failed = vi.fn();
  const leave = [
    unlessGone(Promise.resolve("yes"), got, failed),
    unlessGone(Promise.reject(new Error("no")), got, failed),
  ];
  if (!here) leave.forEach((one) => one());
  await new Promise((resolve) => setTimeout(resolve));
  expect(got.mock.calls).toEqual(here ? [["yes"]] : []);
  expect(failed.mock.calls).toEqual(here ? [[new Error("no")]] : []);
});
