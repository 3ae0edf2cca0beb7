import { expect, test } from "vitest";
import { addressText, certificateOf, comingOf, typedOf, waitsOf, type Address } from "./address";

const made = (more: Partial<Address> = {}): Address => ({ names: [], waits: [], ...more });

test("what is typed becomes a document, and a document what is typed", () => {
  expect(
    addressText({ url: " https://a.example ", names: "a.example,  b.example\nc.example" }),
  ).toBe('url: "https://a.example"\nhttps: ["a.example","b.example","c.example"]\n');
  expect(addressText({ url: "", names: " , " })).toBe('url: ""\nhttps: []\n');
  const names = [
    { name: "a.example", ready: true },
    { name: "b.example", ready: false },
  ];
  expect(typedOf(made({ url: "https://a.example", names }))).toEqual({
    url: "",
    names: "a.example, b.example",
  });
});

test.each([
  ["https://10.0.0.7", true],
  ["http://localhost:3000", true],
  ["http://127.0.0.1:3000", true],
  ["http://oracle.localhost", true],
  ["http://[::1]:3000", true],
  ["http://10.0.0.7:3000", false],
  ["http://mama-maji.org", false],
])("whether calls work for who comes by %s", (here, isWell) => {
  expect(comingOf(new URL(here)).isWell).toBe(isWell);
});

test("how far certificates are, and what waits for a restart, is told in words", () => {
  expect(certificateOf({ name: "a.example", ready: true })).toBe("a.example has a certificate.");
  expect(certificateOf({ name: "a.example", ready: false })).toBe(
    "a.example has no certificate yet.",
  );
  expect(certificateOf({ name: "a.example", ready: false, problem: "no answer" })).toBe(
    "a.example: no answer",
  );
  expect(waitsOf(made({ waits: ["open_https", "something of tomorrow"] }))).toEqual([
    "The port of HTTPS is opened at the server’s next start.",
  ]);
});
