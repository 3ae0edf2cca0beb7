import { expect, test } from "vitest";
import { airTime } from "./septets";

test("the GSM alphabet takes a septet a character", () => {
  expect(airTime("Welcome\n1. Mehr für Ä?")).toEqual({ used: 22, limit: 182, unit: "septets" });
});

test("extension characters take two", () => {
  expect(airTime("[€]")).toMatchObject({ used: 6, unit: "septets" });
});

test("anything else makes every character two bytes wide", () => {
  expect(airTime("Żółw")).toEqual({ used: 4, limit: 80, unit: "characters" });
  expect(airTime("ok 🙂")).toMatchObject({ used: 5, unit: "characters" });
});
