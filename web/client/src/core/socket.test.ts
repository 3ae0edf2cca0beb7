import { beforeEach, describe, expect, test, vi } from "vitest";
import { keeperOf, until } from "../testkit/oracle";
import { FakeSocket } from "../testkit/socket";
import type { OracleEvent } from "./events";
import { OracleSocket } from "./socket";

vi.mock("./line", () => import("../testkit/socket"));
beforeEach(() => {
  FakeSocket.all = [];
});

function open(call = vi.fn(async () => ({ result: "ok" }))) {
  let n = 0;
  const mint = vi.fn(async () => ({ serialized: `t${++n}`, expiresAt: Date.now() + 3_600_000 }));
  const events: OracleEvent[] = [];
  const host = { call, event: (event: OracleEvent) => void events.push(event) };
  const keeper = keeperOf({ invocation: mint });
  const channel = new OracleSocket("ws://o", "did:o", "$s", keeper, host, "tab-1");
  const socket = FakeSocket.all[0] as FakeSocket;
  const auth = () => new Promise((done) => socket.options.auth(done));
  return { channel, socket, mint, call, events, auth };
}

const call = { sessionId: "$s", requestId: "r", toolCallId: "t-1", toolName: "x", args: { a: 1 } };

describe("OracleSocket", () => {
  test("says who it is on every attempt and subscribes on every connection", async () => {
    const { channel, socket, auth } = open();
    expect(socket.options.query).toEqual({ sessionId: "$s", tabId: "tab-1" });
    expect(await auth()).toEqual({ invocation: "t1" });
    socket.line("connect");
    expect(channel.connected.get()).toBe(true);
    socket.line("disconnect", "transport close");
    expect(channel.connected.get()).toBe(false);
    socket.line("connect");
    expect(socket.replies("subscribe")).toHaveLength(2);
  });

  test.each([
    ["connect_error", "Unauthorized"],
    ["disconnect", "io server disconnect"],
  ] as const)("a refusal by %s renews the token once", async (how, reason) => {
    const { socket, mint, auth } = open();
    await auth();
    socket.active = false;
    socket.line("connect");
    socket.line(how, reason);
    await until(() => socket.connects === 1);
    expect(await auth()).toEqual({ invocation: "t2" });
    socket.line("connect");
    socket.line(how, reason);
    await new Promise((resolve) => setImmediate(resolve));
    expect(socket.connects).toBe(1);
    expect(mint).toHaveBeenCalledTimes(2);
    socket.say("connected", { message: "", sessionId: "$s", timestamp: "" });
    socket.line(how, reason);
    await until(() => socket.connects === 2);
  });

  test("a channel that was refused twice asks again after a minute, with what it has", async () => {
    const { channel, socket, mint, auth } = open();
    socket.active = false;
    await auth();
    socket.line("connect_error", "Unauthorized");
    await until(() => socket.connects === 1);
    vi.useFakeTimers();
    try {
      for (const connects of [2, 3]) {
        await auth();
        socket.line("connect_error", "Unauthorized");
        socket.line("disconnect", "io server disconnect");
        await vi.advanceTimersByTimeAsync(59_000);
        expect(socket.connects).toBe(connects - 1);
        await vi.advanceTimersByTimeAsync(1_000);
        expect(socket.connects).toBe(connects);
      }
      expect(mint).toHaveBeenCalledTimes(2);
      socket.line("connect_error", "Unauthorized");
      channel.close();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test("a closed channel does not come back", async () => {
    const { channel, socket } = open();
    socket.active = false;
    socket.line("connect_error", "Unauthorized");
    channel.close();
    await new Promise((resolve) => setImmediate(resolve));
    expect(socket).toMatchObject({ closed: true, connects: 0 });
  });

  test("a call is run once, however often and in whatever form it comes", async () => {
    const { socket, call: run } = open();
    socket.say("browser_tool_call", call);
    socket.say("event", { eventName: "browser_tool_call", payload: call });
    await until(() => socket.replies("tool_result").length === 1);
    expect(run).toHaveBeenCalledTimes(1);
    expect(run).toHaveBeenCalledWith("tool", "x", { a: 1 });
    expect(socket.replies("tool_result")).toEqual([
      { toolCallId: "t-1", sessionId: "$s", result: "ok" },
    ]);
  });

  test("an action that is done is not run; one without an id neither", async () => {
    const { socket, call: run } = open();
    socket.say("action_call", { ...call, status: "done" });
    socket.say("action_call", { ...call, toolCallId: undefined });
    socket.say("action_call", { ...call, toolCallId: "t-2", status: "isRunning" });
    await until(() => socket.replies("action_call_result").length === 1);
    expect(run).toHaveBeenCalledTimes(1);
  });
});
