import { expect, test } from "vitest";
import { foreign, type KeyRequest } from "./newKeys";

const at = "2026-11-18T12:00:00Z";
const request = (id: string, key: string, state: string): KeyRequest => ({
  id,
  account: "C1A2B3C4D",
  person: "did:key:old",
  key,
  linkedAt: at,
  askedAt: at,
  readyAt: at,
  expiresAt: at,
  state,
});

test("whoever has a key is told of requests with other keys, while they wait", () => {
  const all = [
    request("1", "did:key:new", "waiting"),
    request("2", "did:key:other", "refused"),
    request("3", "did:key:other", "approved"),
  ];
  expect(foreign(all, "did:key:old").map(({ id }) => id)).toEqual(["1"]);
  expect(foreign(all, "did:key:new")).toEqual([]);
});
