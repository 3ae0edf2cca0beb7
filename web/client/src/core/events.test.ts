import { describe, expect, test } from "vitest";
import { oracleEventNames, readOracleEvent } from "./events";

const payload = { sessionId: "$s", requestId: "r", step: "x" };

describe("readOracleEvent", () => {
  test.each(oracleEventNames)("%s in every wire form", (eventName) => {
    const event = { eventName, payload };
    expect(readOracleEvent(eventName, payload)).toEqual(event);
    expect(readOracleEvent("event", { eventName, payload })).toEqual(event);
    expect(readOracleEvent(eventName, { ...payload, eventName, payload })).toEqual(event);
  });

  test.each([
    ["an unknown name", "nope", payload],
    ["an envelope of an unknown name", "event", { eventName: "constructor", payload }],
    ["nothing", "status", undefined],
    ["null", "status", null],
    ["text", "status", "text"],
    ["an envelope without payload", "event", { eventName: "status", payload: null }],
  ])("%s is no event", (_, name, argument) => {
    expect(readOracleEvent(name, argument)).toBeUndefined();
  });
});
