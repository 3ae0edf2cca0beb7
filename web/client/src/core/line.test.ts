import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openLine } from "./line";

/** A browser's WebSocket of which a test says what comes in. */
class FakeWebSocket {
  static all: FakeWebSocket[] = [];
  readonly sent: string[] = [];
  isClosed = false;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: (() => void) | null = null;

  constructor(readonly url: string) {
    FakeWebSocket.all.push(this);
  }
  send(packet: string): void {
    this.sent.push(packet);
  }
  close(): void {
    this.isClosed = true;
  }
  say(data: unknown): this {
    this.onmessage?.({ data });
    return this;
  }
  /** Greets and lets in. */
  welcome(): this {
    return this.say('0{"sid":"s","pingInterval":25000,"pingTimeout":20000}').say('40{"sid":"t"}');
  }
}

const newest = () => FakeWebSocket.all.at(-1) as FakeWebSocket;

function dialled(url = "http://oracle.test/") {
  let attempts = 0;
  const line = openLine(url, {
    query: { sessionId: "$s" },
    auth: (done) => done({ invocation: `t${++attempts}` }),
  });
  const heard: unknown[][] = [];
  for (const name of ["connect", "disconnect", "connect_error"]) {
    line.on(name, (...args: unknown[]) => heard.push([name, ...args.map(String)]));
  }
  return { line, heard };
}

beforeEach(() => {
  vi.useFakeTimers();
  FakeWebSocket.all = [];
  vi.stubGlobal("WebSocket", FakeWebSocket);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("a line", () => {
  test("says who is calling, and what was said early", () => {
    const { line, heard } = dialled();
    line.emit("subscribe", { a: 1 });
    expect(newest().url).toBe(
      "ws://oracle.test/socket.io/?sessionId=%24s&EIO=4&transport=websocket",
    );
    newest().welcome();
    expect(newest().sent).toEqual(['40{"invocation":"t1"}', '42["subscribe",{"a":1}]']);
    expect(heard).toEqual([["connect"]]);
    dialled("https://oracle.test");
    expect(newest().url).toMatch(/^wss:/);
  });

  test("answers pings and tells what it hears, by name and to all", () => {
    const { line } = dialled();
    const all = vi.fn();
    const named = vi.fn();
    line.onAny(all);
    line.on("pong", named);
    newest().welcome().say("2").say('42["pong",{"a":"4"}]').say('427["pong",2]');
    expect(newest().sent.at(-1)).toBe("3");
    expect(all.mock.calls).toEqual([
      ["pong", { a: "4" }],
      ["pong", 2],
    ]);
    line.off("pong", named);
    line.offAny();
    newest().say('42["pong"]');
    expect(named).toHaveBeenCalledTimes(2);
    expect(all).toHaveBeenCalledTimes(2);
  });

  test("that breaks is dialled again, with new words of who is calling", () => {
    const { heard } = dialled();
    newest().welcome().onclose?.();
    expect(heard.at(-1)).toEqual(["disconnect", "transport close"]);
    vi.advanceTimersByTime(1500);
    expect(FakeWebSocket.all).toHaveLength(2);
    newest().onclose?.();
    expect(heard.at(-1)).toEqual(["connect_error", "Error: No connection"]);
    vi.advanceTimersByTime(3000);
    newest().welcome();
    expect(newest().sent).toEqual(['40{"invocation":"t2"}']);
    expect(heard.at(-1)).toEqual(["connect"]);
  });

  test("on which nothing is heard is dead", () => {
    const { heard } = dialled();
    const [first] = FakeWebSocket.all;
    first?.welcome();
    vi.advanceTimersByTime(44_000);
    first?.say("2");
    vi.advanceTimersByTime(44_000);
    expect(heard).toEqual([["connect"]]);
    vi.advanceTimersByTime(1000);
    expect(heard.at(-1)).toEqual(["disconnect", "transport close"]);
    expect(first?.isClosed).toBe(true);
    first?.say('42["late"]').onclose?.();
    expect(heard).toHaveLength(2);
  });

  test("goes when the network goes and comes when it is back", () => {
    const page = new EventTarget();
    vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
    vi.stubGlobal("removeEventListener", page.removeEventListener.bind(page));
    const { line, heard } = dialled();
    newest().welcome();
    page.dispatchEvent(new Event("offline"));
    expect(heard.at(-1)).toEqual(["disconnect", "transport close"]);
    page.dispatchEvent(new Event("online"));
    expect(FakeWebSocket.all).toHaveLength(2);
    page.dispatchEvent(new Event("online"));
    vi.advanceTimersByTime(10_000);
    expect(FakeWebSocket.all).toHaveLength(2);
    line.disconnect();
    page.dispatchEvent(new Event("online"));
    expect(FakeWebSocket.all).toHaveLength(2);
  });

  test.each([
    ['44{"message":"Unauthorized"}', ["connect_error", "Error: Unauthorized"]],
    ["41", ["disconnect", "io server disconnect"]],
  ])("that the server refuses (%s) is not dialled again by itself", (packet, told) => {
    const { line, heard } = dialled();
    newest().say('0{"pingInterval":1,"pingTimeout":1}').say(packet);
    expect(heard).toEqual([told]);
    expect(line.active).toBe(false);
    vi.advanceTimersByTime(60_000);
    expect(FakeWebSocket.all).toHaveLength(1);
    line.connect();
    newest().welcome();
    expect(newest().sent).toEqual(['40{"invocation":"t2"}']);
  });

  test("brings answers to who asked, and says when there is none", async () => {
    const { line } = dialled();
    const early = line.ask("early", 0, 1000);
    newest().welcome();
    const asked = line.ask("offer", { sdp: "x" }, 1000);
    const lost = line.ask("lost", {}, 1000);
    expect(newest().sent.slice(1)).toEqual([
      '420["early",0]',
      '421["offer",{"sdp":"x"}]',
      '422["lost",{}]',
    ]);
    newest().say('431[{"ok":true}]').say("430[]");
    expect(await asked).toEqual({ ok: true });
    expect(await early).toBeUndefined();
    newest().onclose?.();
    await expect(lost).rejects.toThrow("The connection is lost");
    const late = line.ask("late", {}, 100);
    vi.advanceTimersByTime(100);
    await expect(late).rejects.toThrow("in time");
    vi.advanceTimersByTime(1500);
    newest().welcome();
    expect(newest().sent).toHaveLength(1);
  });

  test("takes no harm from what is no packet", () => {
    const { heard } = dialled();
    newest().welcome();
    const odd = ["", "4", "42", "42{}", "42[", "439[1]", "45-[1]", "9", "b4", new Blob(), "0x"];
    for (const packet of odd) newest().say(packet);
    newest().say("0null");
    expect(heard).toEqual([["connect"]]);
  });

  test("says good-bye and is silent", () => {
    const { line, heard } = dialled();
    newest().welcome();
    line.disconnect();
    expect(newest().sent.at(-1)).toBe("41");
    expect(heard.at(-1)).toEqual(["disconnect", "io client disconnect"]);
    vi.advanceTimersByTime(60_000);
    expect(FakeWebSocket.all).toHaveLength(1);
  });
});
