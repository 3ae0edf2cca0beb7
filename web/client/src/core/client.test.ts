import { expect, test } from "vitest";
import { FakeOracle } from "../testkit/oracle";
import { mayPass } from "./again";
import { OraclesClient } from "./client";

function client(fetcher: typeof fetch = new FakeOracle().fetch): OraclesClient {
  return new OraclesClient({
    wallet: { address: "a", did: "did:key:me", matrix: { accessToken: "", homeServer: "" } },
    createDelegation: () => Promise.reject(new Error("no")),
    queryGateway: "https://chain.example",
    network: { fetch: fetcher },
  });
}

test("what nobody shows is forgotten in time, and what somebody shows is not", () => {
  const shared = client();
  const shown = shared.resource("shown");
  const leave = shown.use(() => new Promise(() => undefined));
  const [first, api] = [shared.resource("0"), shared.api("https://0.example", "did:0")];
  for (let i = 1; i < 250; i++) {
    shared.resource(String(i));
    shared.api(`https://${i}.example`, `did:${i}`);
  }
  expect(shared.resource("249")).toBe(shared.resource("249"));
  expect(shared.resource("shown")).toBe(shown);
  expect(shared.resource("0")).not.toBe(first);
  expect(shared.api("https://0.example", "did:0")).not.toBe(api);
  leave();
});

test("an address may end in a slash", async () => {
  const asked: string[] = [];
  const shared = client(async (url) => {
    asked.push(String(url));
    return new Response("{}");
  });
  const api = shared.api("https://oracle.example/base//", "did:o");
  await api.json("/models", { anonymous: true });
  expect(asked).toEqual(["https://oracle.example/base/models"]);
  expect(shared.api("https://oracle.example/base", "did:o")).toBe(api);
});

test("who cannot be reached is named, and what was given up is not", async () => {
  const cause = new TypeError("Failed to fetch");
  let why: unknown = cause;
  const shared = client(() => Promise.reject(why as Error));
  const api = shared.api("https://oracle.example/base", "did:o");
  const failure = (): Promise<unknown> => api.json("/models", { anonymous: true }).catch((e) => e);
  const told = await failure();
  expect(told).toBeInstanceOf(TypeError);
  expect(told).toMatchObject({
    message: "https://oracle.example cannot be reached from this page: Failed to fetch",
    cause,
  });
  expect(mayPass(told)).toBe(true);
  await expect(shared.fetch("https://gate.example/ixo/entity/did:o")).rejects.toThrow(
    "https://gate.example cannot be reached",
  );
  why = new DOMException("The user aborted a request.", "AbortError");
  expect(await failure()).toBe(why);
});
