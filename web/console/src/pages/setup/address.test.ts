import { expect, test } from "vitest";
import type { Setting } from "../operator/settings";
import { addressOf } from "./address";

const set = (values: Record<string, string>) =>
  Object.entries(values).map(([name, value]): Setting => ({
    part: "Server",
    name,
    value,
    source: "environment",
    doc: "",
  }));
const at = (address: string) => new URL(address);

test("on one's own machine nothing is missing but a name that others can reach", () => {
  const { told, isHere, ways } = addressOf([], at("http://127.0.0.1:3000/console/setup"));
  expect([told, isHere]).toEqual(["", true]);
  expect(ways.map(({ settings }) => settings)).toEqual([
    ["HTTPS_DOMAINS=oracle.example.org"],
    ["PUBLIC_URL=https://oracle.example.org", "TRUST_PROXY_ENABLED=true"],
  ]);
});

test.each([
  ["http://mama-maji.org/", "mama-maji.org"],
  ["http://192.168.1.7:3000/", "oracle.example.org"],
  ["http://[fd00::1]:3000/", "oracle.example.org"],
  ["http://raspberry:3000/", "oracle.example.org"],
])("without HTTPS at %s the setting names %s", (here, name) => {
  const { isHere, ways } = addressOf([], at(here));
  expect(isHere).toBe(false);
  expect(ways[0]?.settings).toEqual([`HTTPS_DOMAINS=${name}`]);
});

test("behind a proxy with HTTPS the address itself is what is missing, if it is not told", () => {
  expect(addressOf([], at("https://mama-maji.org/")).ways).toEqual([
    { settings: ["PUBLIC_URL=https://mama-maji.org"], isOwn: false },
  ]);
  const told = addressOf(
    set({ PUBLIC_URL: "https://mama-maji.org/" }),
    at("https://mama-maji.org/"),
  );
  expect(told).toMatchObject({ by: "PUBLIC_URL", isSame: true, isHttps: true, ways: [] });
});

test("the first of the names is told, and another address than this one is no fault", () => {
  const settings = set({ PUBLIC_URL: "", HTTPS_DOMAINS: "a.example, b.example" });
  expect(addressOf(settings, at("http://10.0.0.2:3000/"))).toMatchObject({
    told: "https://a.example",
    by: "HTTPS_DOMAINS",
    isSame: false,
    isHttps: false,
    ways: [],
  });
});
