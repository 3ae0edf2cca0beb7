import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FakeOracle, json, keeperOf, memoryStorage } from "../testkit/oracle";
import { mayPass } from "./again";
import { CredentialKeeper } from "./credentials";

const minute = 60_000;

/** A wallet whose tokens are counted: t1, t2, … */
function minting(life = 60 * minute) {
  let n = 0;
  return vi.fn(async () => ({ serialized: `t${++n}`, expiresAt: Date.now() + life }));
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("CredentialKeeper", () => {
  test("concurrent callers share one mint, later ones its token", async () => {
    const mint = minting();
    const keeper = keeperOf({ delegation: mint });
    const all = await Promise.all([1, 2, 3].map(() => keeper.get("delegation", "did:o")));
    expect(all).toEqual(["t1", "t1", "t1"]);
    expect(await keeper.get("delegation", "did:o")).toBe("t1");
    expect(mint).toHaveBeenCalledTimes(1);
    expect(mint).toHaveBeenCalledWith("did:o");
  });

  test.each([
    ["delegation", 5 * minute],
    ["invocation", 30_000],
  ] as const)("a %s is renewed before its end", async (kind, margin) => {
    const keeper = keeperOf({ [kind]: minting(10 * minute) });
    await keeper.get(kind, "did:o");
    vi.advanceTimersByTime(10 * minute - margin - 1);
    expect(await keeper.get(kind, "did:o")).toBe("t1");
    vi.advanceTimersByTime(1);
    expect(await keeper.get(kind, "did:o")).toBe("t2");
  });

  test("a token that cannot be renewed early is good to its end", async () => {
    const mint = minting(10 * minute);
    const keeper = keeperOf({ delegation: mint });
    await keeper.get("delegation", "did:o");
    mint.mockRejectedValue(new Error("declined"));
    vi.advanceTimersByTime(9 * minute);
    expect(await keeper.get("delegation", "did:o")).toBe("t1");
    vi.advanceTimersByTime(minute);
    await expect(keeper.get("delegation", "did:o")).rejects.toThrow(
      "The delegation could not be made: declined",
    );
  });

  test("tokens are kept per user, oracle and kind, over page loads", async () => {
    const storage = memoryStorage();
    const open = (user: string) =>
      new CredentialKeeper(user, { delegation: minting(), invocation: minting() }, storage);
    const first = open("did:a");
    await first.get("delegation", "did:o1");
    expect(await first.get("delegation", "did:o2")).toBe("t2");
    expect(await first.get("invocation", "did:o1")).toBe("t1");
    const mint = minting();
    const again = new CredentialKeeper("did:a", { delegation: mint }, storage);
    expect(await again.get("delegation", "did:o2")).toBe("t2");
    expect(mint).not.toHaveBeenCalled();
    expect(await open("did:b").get("delegation", "did:o2")).toBe("t1");
    expect(Object.keys(JSON.parse(storage.items.get("oracles_ucan_delegations") ?? ""))).toEqual([
      "did:a::did:o1",
      "did:a::did:o2",
      "did:b::did:o2",
    ]);
  });

  test.each([
    ["is forbidden", { getItem: () => fail(), setItem: () => fail() }],
    ["is full", { getItem: () => null, setItem: () => fail() }],
    ["holds rubbish", { getItem: () => "{", setItem: () => undefined }],
    ["holds a list", { getItem: () => "[1]", setItem: () => undefined }],
    ["holds null tokens", { getItem: () => '{"did:user::did:o":null}', setItem: () => undefined }],
    [
      "holds half tokens",
      { getItem: () => '{"did:user::did:o":{"expiresAt":9e15}}', setItem: () => undefined },
    ],
  ])("a storage that %s costs a mint, nothing more", async (_, storage) => {
    const keeper = keeperOf({ delegation: minting() }, storage);
    expect(await keeper.get("delegation", "did:o")).toBe("t1");
    expect(await keeper.get("delegation", "did:o")).toBe("t1");
  });

  test("a wallet that refused is asked again when the user does something", async () => {
    const mint = minting();
    mint.mockRejectedValueOnce(new Error("locked"));
    const keeper = keeperOf({ delegation: mint });
    await expect(keeper.headers("did:o")).rejects.toThrow("locked");
    await expect(keeper.headers("did:o")).rejects.toThrow("locked");
    expect(mint).toHaveBeenCalledTimes(1);
    expect(await keeper.headers("did:o", true)).toEqual({ "x-ucan-delegation": "t1" });
  });

  test("who is known by one token is not asked for the other with every act", async () => {
    const delegate = vi.fn(() => Promise.reject(new Error("declined")));
    const keeper = keeperOf({ delegation: delegate, invocation: minting() });
    for (let i = 0; i < 3; i++) await keeper.headers("did:o", true);
    expect(delegate).toHaveBeenCalledTimes(1);
    keeper.askAgain();
    await keeper.headers("did:o");
    expect(delegate).toHaveBeenCalledTimes(2);
  });

  test("a wallet behind a broken line did not refuse", async () => {
    const mint = minting();
    mint.mockRejectedValueOnce(new TypeError("Failed to fetch"));
    const keeper = keeperOf({ delegation: mint });
    const failed = await keeper.headers("did:o").catch((cause: unknown) => cause);
    expect(mayPass(failed)).toBe(true);
    expect(await keeper.headers("did:o")).toEqual({ "x-ucan-delegation": "t1" });
  });

  test("what the wallet returns is looked at", async () => {
    const keeper = keeperOf({ delegation: async () => ({ serialized: "", expiresAt: 9e15 }) });
    await expect(keeper.get("delegation", "did:o")).rejects.toThrow("could not be made");
  });

  test("seconds are refused, since they would ask the user anew for every request", async () => {
    const expiresAt = Math.floor(Date.now() / 1000) + 3600;
    const keeper = keeperOf({ delegation: async () => ({ serialized: "t", expiresAt }) });
    await expect(keeper.get("delegation", "did:o")).rejects.toThrow("milliseconds");
  });

  test("what another tab has renewed is not asked for again", async () => {
    const storage = memoryStorage();
    const mints = [minting(10 * minute), minting(20 * minute)] as const;
    const [here, there] = mints.map((m) => keeperOf({ invocation: m }, storage));
    expect(await here?.get("invocation", "did:o")).toBe("t1");
    expect(await there?.get("invocation", "did:o")).toBe("t1");
    vi.advanceTimersByTime(10 * minute);
    expect(await there?.get("invocation", "did:o")).toBe("t1");
    expect(await here?.get("invocation", "did:o")).toBe("t1");
    expect(mints.map((m) => m.mock.calls.length)).toEqual([1, 1]);
  });

  test("either token is enough", async () => {
    const keeper = keeperOf({
      delegation: () => Promise.reject(new Error("declined")),
      invocation: minting(),
    });
    expect(await keeper.headers("did:o")).toEqual({
      Authorization: "Bearer t1",
      "X-Auth-Type": "ucan",
    });
  });
});

describe("OracleApi", () => {
  test("a refused token is renewed once, for all who were refused", async () => {
    const mint = minting();
    const oracle = new FakeOracle().on("GET", /^\/x/, ({ headers }) =>
      headers["Authorization"] === "Bearer t1" ? json({ message: "no" }, 401) : json({ ok: true }),
    );
    const api = oracle.api(keeperOf({ invocation: mint }));
    const replies = await Promise.all([api.json("/x1"), api.json("/x2"), api.json("/x3")]);
    expect(replies).toEqual([{ ok: true }, { ok: true }, { ok: true }]);
    expect(mint).toHaveBeenCalledTimes(2);
  });

  test("a second refusal is final", async () => {
    const mint = minting();
    const oracle = new FakeOracle().on("GET", /./, () =>
      json({ statusCode: 401, message: "Invalid UCAN invocation" }, 401),
    );
    const api = oracle.api(keeperOf({ invocation: mint }));
    await expect(api.json("/x")).rejects.toMatchObject({
      status: 401,
      message: "Invalid UCAN invocation",
    });
    expect(mint).toHaveBeenCalledTimes(2);
    expect(oracle.seen).toHaveLength(2);
  });

  test("an oracle that asks for a delegation gets one, and is not heard again at once", async () => {
    const mint = minting();
    const oracle = new FakeOracle()
      .on("GET", /./, () => json({}, 200, { "X-Delegation-Required": "1" }))
      .on("POST", /^\/delegation$/, () => json({ message: "broken" }, 500));
    const api = oracle.api(keeperOf({ delegation: mint, invocation: minting() }));
    await Promise.all([api.json("/a"), api.json("/b")]);
    await api.deposit();
    await api.json("/c");
    expect(oracle.requests("POST", /delegation/)).toMatchObject([{ body: { raw: "t2" } }]);
    vi.advanceTimersByTime(minute);
    await api.deposit();
    expect(oracle.requests("POST", /delegation/)).toHaveLength(2);
  });

  test.each([
    [{ message: ["a is bad", "b is bad"], statusCode: 400 }, "a is bad; b is bad"],
    [{ error: "Nope" }, "Nope"],
    ["plain", "The oracle answered 400"],
  ])("an error says what the server said: %j", async (body, message) => {
    const oracle = new FakeOracle().on("GET", /./, () =>
      json(body, 400, { "X-Request-Id": "r-9", "Retry-After": "3" }),
    );
    await expect(oracle.api().json("/x")).rejects.toMatchObject({
      message,
      status: 400,
      requestId: "r-9",
      retryAfter: 3,
    });
  });
});

function fail(): never {
  throw new Error("storage is forbidden");
}
