// @vitest-environment jsdom
import { beforeEach, expect, test } from "vitest";
import { codeOf, linkAddress, namesOf, rememberLink } from "./links";

beforeEach(() => localStorage.clear());

test("a link is remembered by the names of what it shows, for whoever made it", () => {
  rememberLink("did:a", "1", ["may.txt", "june.txt"]);
  rememberLink("did:a", "2", ["july.txt"]);
  expect(namesOf("did:a", "1")).toEqual(["may.txt", "june.txt"]);
  expect(namesOf("did:a", "3")).toBeUndefined();
  expect(namesOf("did:b", "1")).toBeUndefined();
});

test("the newest two hundred are remembered, and what is no list is no list", () => {
  for (let i = 0; i < 201; i++) rememberLink("did:a", `${i}`, [`${i}.txt`]);
  expect(namesOf("did:a", "0")).toBeUndefined();
  expect(namesOf("did:a", "200")).toEqual(["200.txt"]);
  for (const broken of ["{}", "[1]", '[["1",[2]]]', "no"]) {
    localStorage.setItem("castalia-links did:a", broken);
    expect(namesOf("did:a", "1")).toBeUndefined();
  }
});

test("a link leads to where people reach this page, unless the server knows better", () => {
  const origin = "https://oracle.example";
  expect(linkAddress("/s/abc/a%20b.txt", origin)).toBe("https://oracle.example/s/abc/a%20b.txt");
  expect(linkAddress("http://127.0.0.1:3000/s/abc", origin)).toBe("https://oracle.example/s/abc");
  expect(linkAddress("http://[::1]:3000/s/abc", origin)).toBe("https://oracle.example/s/abc");
  expect(linkAddress("https://files.example/s/abc", origin)).toBe("https://files.example/s/abc");
});

test("plain addresses have a code, links with keys in them have none", () => {
  expect(codeOf("https://o.example/s/abc/")).toBe("/s/abc/?qr=1");
  expect(codeOf("https://o.example/console/share#key=x")).toBeUndefined();
});
