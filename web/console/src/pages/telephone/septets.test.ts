import { expect, test } from "vitest";
import { airTime } from "./septets";

test("the GSM alphabet takes a septet a character", () => {
  expect(airTime("Welcome\n1. Mehr für Ä?")).toEqual({ used: 22, limit: 160, unit: "septets" });
});

test("extension characters take two", () => {
  expect(airTime("[€]")).toMatchObject({ used: 6, unit: "septets" });
});

test("anything else makes every character two bytes wide", () => {
  expect(airTime("Żółw")).toEqual({ used: 4, limit: 70, unit: "characters" });
  expect(airTime("ok 🙂")).toMatchObject({ used: 5, unit: "characters" });
});

test("the server says what its networks show", () => {
  const screen = { septets: 182, characters: 80 };
  expect(airTime("ok", screen).limit).toBe(182);
  expect(airTime("Żółw", screen).limit).toBe(80);
});
