// @vitest-environment jsdom
// What went wrong in a library of the same shape, one test each: it does not here.
import { readFileSync } from "node:fs";
import { act, cleanup, render, screen, waitFor } from "@testing-library/react";
import { useState } from "react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { z as z4 } from "zod/v4";
import { EventParser, type ServerSentEvent } from "./core/sse";
import { chatOptions, page } from "./react/kit";
import { renderMessageContent } from "./react/render";
import { useAgAction } from "./react/useAgAction";
import { useChat, type IChatOptions } from "./react/useChat";
import { json } from "./testkit/oracle";
import { FakeSocket } from "./testkit/socket";

vi.mock("./core/line", () => import("./testkit/socket"));
beforeEach(() => {
  FakeSocket.all = [];
  localStorage.clear();
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function Talk(options: Partial<IChatOptions>) {
  const chat = useChat(chatOptions(options));
  return (
    <>
      <button onClick={() => void chat.sendMessage("hi").catch(() => undefined)}>send</button>
      <output>{`${chat.status} ${chat.isLoading ? "loading" : chat.messages.length}`}</output>
      {chat.messages.map((m) => (
        <div key={m.id}>{renderMessageContent(m.content)}</div>
      ))}
    </>
  );
}

const opened = () => screen.findByText(/^ready \d/);
const socket = () => FakeSocket.all[0] as FakeSocket;

/** Sends a message and writes the whole reply. */
async function turn({ oracle }: ReturnType<typeof page>, ...frames: [string, unknown][]) {
  oracle.streaming("run-1");
  const before = oracle.streams.length;
  act(() => screen.getByText("send").click());
  await waitFor(() => expect(oracle.streams.length).toBe(before + 1));
  frames.forEach(([event, data], i) => oracle.stream().frame(i + 1, event, data));
  oracle.stream().frame(99, "done", { status: "finished" }).end();
  await screen.findByText(/^ready/);
}

const call = (toolName: string, args = {}) => ({
  sessionId: "$s",
  requestId: "r",
  toolCallId: "c-1",
  toolName,
  args,
  status: "isRunning",
});

const tool = (schema: unknown, fn: (args: never) => unknown = () => "ok") => ({
  t: { toolName: "t", description: "d", schema, fn },
});

describe("schemas and tools", () => {
  test("a schema of zod 4 is sent whole", async () => {
    const made = page();
    render(<made.Page><Talk browserTools={tool(z4.object({ n: z4.number() }))} /></made.Page>); // prettier-ignore
    await opened();
    await turn(made);
    expect(made.oracle.requests("POST", /messages/)[0]?.body).toMatchObject({
      tools: [{ schema: { type: "object", properties: { n: { type: "number" } } } }],
    });
  });

  test("a tool that comes after the line is up is run", async () => {
    const { Page } = page();
    function Late() {
      const [tools, set] = useState<IChatOptions["browserTools"]>();
      return (
        <>
          <button onClick={() => set(tool(z.object({})))}>offer</button>
          <Talk {...(tools ? { browserTools: tools } : {})} />
        </>
      );
    }
    render(<Page><Late /></Page>); // prettier-ignore
    await opened();
    act(() => socket().line("connect"));
    act(() => screen.getByText("offer").click());
    socket().say("browser_tool_call", call("t"));
    await waitFor(() => expect(socket().replies("tool_result")).toMatchObject([{ result: "ok" }]));
  });

  test("an action runs once, however many frames tell of it, and its drawing is shown", async () => {
    const { Page, oracle } = page();
    oracle.history = [
      {
        id: "a",
        type: "ai",
        content: "",
        toolCalls: [{ id: "c-1", name: "draw", args: { n: 3 }, status: "done", output: "6" }],
      },
    ];
    const handler = vi.fn(async () => 6);
    function Draw() {
      useAgAction({
        name: "draw",
        description: "d",
        parameters: z.object({ n: z.number() }),
        handler,
        render: ({ status, result }) => <b>{`${status} ${String(result)}`}</b>,
      });
      return null;
    }
    render(<Page><Draw /><Talk /></Page>); // prettier-ignore
    await screen.findByText("done 6");
    for (const status of ["isRunning", "isRunning", "done"]) {
      socket().say("action_call", { ...call("draw", { n: 3 }), status });
    }
    await waitFor(() => expect(socket().replies("action_call_result")).toHaveLength(1));
    expect(handler).toHaveBeenCalledTimes(1);
  });

  test("components that are new with every render draw nothing in a circle", async () => {
    const { Page } = page();
    let renders = 0;
    function Careless() {
      renders++;
      return <Talk uiComponents={{ ToolCall: () => null }} />;
    }
    render(<Page><Careless /></Page>); // prettier-ignore
    await opened();
    expect(renders).toBeLessThan(5);
  });

  test("a tool may be called constructor", () => {
    const props = { id: "1", args: {}, isToolCall: true };
    const view = render(
      <>
        {renderMessageContent([{ name: "constructor", props }], { ToolCall: () => <i>drawn</i> })}
      </>,
    );
    expect(view.container.textContent).toBe("drawn");
  });
});

describe("credentials", () => {
  test("three who ask at once mint one token, and each attempt of the line reads it anew", async () => {
    const { Page, mint, oracle } = page();
    render(<Page><Talk /><Talk sessionId="$2" /><Talk sessionId="$3" /></Page>); // prettier-ignore
    await waitFor(() => expect(oracle.requests("GET", /run$/)).toHaveLength(3));
    expect(mint).toHaveBeenCalledTimes(1);
    localStorage.clear();
    const auth = () => new Promise((done) => socket().options.auth(done));
    expect(await auth()).toEqual({ ucanDelegation: "t1" });
    socket().active = false;
    socket().line("connect_error", new Error("Unauthorized"));
    await waitFor(() => expect(socket().connects).toBe(1));
    expect(await auth()).toEqual({ ucanDelegation: "t2" });
  });

  test("a token that is refused is renewed once, and the message is sent again", async () => {
    const { Page, oracle } = page();
    let refusals = 0;
    render(<Page><Talk /></Page>); // prettier-ignore
    await opened();
    oracle.on(
      "POST",
      /messages/,
      () => (refusals++, json({ statusCode: 401, message: "no" }, 401)),
    );
    act(() => screen.getByText("send").click());
    await screen.findByText(/^error/);
    expect(refusals).toBe(2);
  });

  test("an invocation alone is enough", async () => {
    const { Page, oracle } = page();
    const declined = () => Promise.reject(new Error("declined"));
    const invocation = async () => ({ serialized: "inv", expiresAt: Date.now() + 600_000 });
    render(
      <Page createDelegation={declined} createInvocation={invocation}>
        <Talk />
      </Page>,
    );
    await opened();
    expect(oracle.seen[0]?.headers).toMatchObject({
      Authorization: "Bearer inv",
      "X-Auth-Type": "ucan",
    });
    expect(oracle.seen[0]?.headers).not.toHaveProperty("x-ucan-delegation");
  });

  test("an oracle that asks for a delegation is given one", async () => {
    const { Page, oracle } = page();
    oracle.on("GET", /run$/, () => json({ run: null }, 200, { "X-Delegation-Required": "1" }));
    render(<Page><Talk /></Page>); // prettier-ignore
    await waitFor(() => expect(oracle.requests("POST", /^\/delegation$/)).toHaveLength(1));
    expect(oracle.requests("POST", /^\/delegation$/)[0]?.body).toEqual({ raw: "t2" });
  });

  test("an oracle that asks for a delegation in its stream is given one", async () => {
    const made = page();
    render(<made.Page><Talk /></made.Page>); // prettier-ignore
    await opened();
    await turn(made, ["delegation_required", { reason: "missing" }], ["message", { content: "a" }]);
    await waitFor(() => expect(made.oracle.requests("POST", /^\/delegation$/)).toHaveLength(1));
    expect(made.oracle.requests("POST", /^\/delegation$/)[0]?.body).toEqual({ raw: "t2" });
  });

  test("another user sees nothing of the one before", async () => {
    const { Page, oracle } = page();
    oracle.history = [{ id: "1", type: "human", content: "secret" }];
    const wallet = (name: string) => ({
      address: name,
      did: `did:ixo:${name}`,
      matrix: { accessToken: "m", homeServer: "hs.test" },
    });
    const view = render(<Page initialWallet={wallet("a")}><Talk /></Page>); // prettier-ignore
    await screen.findByText("secret");
    oracle.history = [];
    view.rerender(<Page initialWallet={wallet("b")}><Talk /></Page>); // prettier-ignore
    expect(screen.queryByText("secret")).toBeNull();
    await screen.findByText("ready 0");
    const tokens = oracle.requests("GET", /messages/).map((r) => r.headers["x-ucan-delegation"]);
    expect(new Set(tokens).size).toBe(2);
  });
});

describe("the wire", () => {
  test("data of several lines is joined, and comments end nothing", () => {
    const events: ServerSentEvent[] = [];
    new EventParser((event) => events.push(event)).push(
      "event: message\ndata: one\n: beat\ndata: two\n\n",
    );
    expect(events).toEqual([{ event: "message", data: "one\ntwo", id: "" }]);
  });

  test("what a page throws is its own error, not a dropped line", async () => {
    const made = page();
    const thrown: unknown[] = [];
    const listen = (error: Error) => void thrown.push(error.message);
    const before = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", listen);
    try {
      const onEvent = () => {
        throw new Error("the page's own");
      };
      render(<made.Page><Talk onEvent={onEvent} /></made.Page>); // prettier-ignore
      await opened();
      act(() => socket().line("connect"));
      act(() => socket().say("pong", { timestamp: "", sessionId: "$s" }));
      await waitFor(() => expect(thrown).toEqual(["the page's own"]));
    } finally {
      process.off("uncaughtException", listen);
      before.forEach((one) => process.on("uncaughtException", one));
    }
    expect(socket().closed).toBe(false);
    await turn(made, ["message", { content: "Fine" }]);
    expect(screen.getByText("Fine")).toBeTruthy();
    expect(made.oracle.requests("GET", /^\/runs\//)).toEqual([]);
  });

  test.each([
    ["as JSON without a statusCode", () => json({ message: "Cannot GET" }, 404)],
    ["as plain text", () => new Response("404 page not found", { status: 404 })],
  ])(
    "an oracle without pages, which says so %s, is read once and not after each reply",
    async (_, no) => {
      const made = page();
      made.oracle
        .on("GET", /^\/sessions\/[^/]+\/messages/, no)
        .on("GET", /^\/messages\//, () =>
          json({ messages: [{ id: "1", type: "ai", content: "old" }] }),
        );
      render(<made.Page><Talk /></made.Page>); // prettier-ignore
      await screen.findByText("old");
      await turn(made, ["message", { content: "first" }]);
      await turn(made, ["message", { content: "second" }]);
      expect(made.oracle.requests("GET", /^\/messages\//)).toHaveLength(1);
      expect(screen.getByText("old")).toBeTruthy();
      expect(screen.getByText("first")).toBeTruthy();
    },
  );
});

test("the main entry asks for no environment and brings no media", async () => {
  const main = await import("./index");
  expect(main).not.toHaveProperty("useLiveAgent");
  const about = JSON.parse(readFileSync("package.json", "utf8")) as {
    dependencies?: object;
    peerDependencies: object;
  };
  expect(about.dependencies).toBeUndefined();
  expect(about.peerDependencies).toEqual({ react: ">=18", zod: "^3 || ^4" });
});
