// @vitest-environment jsdom
import { act, cleanup, render, screen, waitFor } from "@testing-library/react";
import { memo, Profiler } from "react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { StreamingMode } from "../core/flush";
import type { IComponentMetadata, IMessage, StoredMessage } from "../core/types";
import { FakeSocket } from "../testkit/socket";
import { chatOptions, page } from "./kit";
import { renderMessageContent } from "./render";
import { useAgAction } from "./useAgAction";
import { useChat, type UIComponents } from "./useChat";

vi.mock("../core/line", () => import("../testkit/socket"));
beforeEach(() => {
  FakeSocket.all = [];
  localStorage.clear();
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const part = (
  name: string,
  props: Partial<IComponentMetadata["props"]> = {},
): IComponentMetadata => ({
  name,
  props: { id: `id-${name}`, args: { a: 1 }, ...props },
});
const html = (...args: Parameters<typeof renderMessageContent>) =>
  render(<>{renderMessageContent(...args)}</>).container.innerHTML;
const Show = (props: Record<string, unknown>) => <i>{JSON.stringify(props)}</i>;

describe("renderMessageContent", () => {
  test("text stays text", () => {
    expect(html("<b>x</b>")).toBe("&lt;b&gt;x&lt;/b&gt;");
    expect(html(undefined)).toBe("");
    expect(html(["a", part("X"), "b"], { X: () => <hr /> })).toBe("a<hr>b");
  });

  test.each(["constructor", "__proto__", "toString", "hasOwnProperty"])(
    "%s is just a name",
    (name) => {
      const call = part(name, { isToolCall: true, toolName: name });
      expect(html([call, part(name, { id: "other" })])).toBe("");
      expect(html([call], {})).toBe("");
      cleanup();
      render(<>{renderMessageContent([call], { ToolCall: Show })}</>);
      expect(screen.getByText(/toolName/).textContent).toContain(name);
    },
  );

  test("what nobody draws falls back, actions first to their own", () => {
    const components = { ToolCall: () => <u>tool</u>, AgActionToolCall: () => <s>action</s> };
    expect(html(part("x", { isToolCall: true }), components)).toBe("<u>tool</u>");
    expect(html(part("x", { isAgAction: true }), components)).toBe("<s>action</s>");
    expect(html(part("x", { isAgAction: true }), { ToolCall: components.ToolCall })).toBe(
      "<u>tool</u>",
    );
  });

  test("a component that nobody knows is told of by its name", () => {
    const shown = part("Card", { event: "render_component", status: "done" });
    render(<>{renderMessageContent(shown, { ToolCall: Show })}</>);
    expect(JSON.parse(screen.getByText(/Card/).textContent)).toMatchObject({
      toolName: "Card",
      args: { a: 1 },
      isLoading: false,
    });
  });

  test("a rendered component gets its arguments as props, a call gets them as args", () => {
    const given: Record<string, unknown>[] = [];
    const X = (props: Record<string, unknown>) => void given.push(props) as never;
    html(part("X", { event: "render_component", status: "isRunning" }), { X });
    html(part("X", { isToolCall: true, status: "done", output: "o" }), { X });
    expect(given[0]).toMatchObject({ a: 1, id: "id-X", isLoading: true });
    expect(given[1]).toMatchObject({ args: { a: 1 }, output: "o", isLoading: false });
  });
});

/** Writes a reply into the stream of the page's only turn. */
async function talking(made: ReturnType<typeof page>) {
  made.oracle.streaming("run-1");
  await waitFor(() => expect(made.oracle.requests("GET", /run$/)).toHaveLength(1));
  await act(async () => screen.getByText("send").click());
  await waitFor(() => expect(made.oracle.streams).toHaveLength(1));
  return made.oracle.stream();
}

describe("useAgAction", () => {
  function Chart({ title, render: drawn }: { title: string; render: boolean }) {
    useAgAction({
      name: "chart",
      description: "Draws",
      parameters: z.object({ n: z.number() }),
      handler: async ({ n }) => n * 2,
      render: drawn
        ? ({ status, args, result }) => <b>{`${title} ${status} ${args.n} ${String(result)}`}</b>
        : undefined,
    });
    return null;
  }
  function Talk() {
    const chat = useChat(chatOptions());
    return (
      <>
        <button onClick={() => void chat.sendMessage("hi")}>send</button>
        <output>{chat.status}</output>
        {chat.messages.map((m) => (
          <div key={m.id}>{renderMessageContent(m.content)}</div>
        ))}
      </>
    );
  }

  test("is run once and drawn where it was called: running, done, from the history", async () => {
    const made = page();
    const { Page, oracle } = made;
    const view = render(<Page><Chart title="old" render /><Talk /></Page>); // prettier-ignore
    const stream = await talking(made);
    expect(oracle.requests("POST", /messages/)[0]?.body).toMatchObject({
      agActions: [{ name: "chart", description: "Draws", hasRender: true }],
    });
    const call = {
      sessionId: "$s",
      requestId: "r-1",
      toolCallId: "c",
      toolName: "chart",
      args: { n: 3 },
    };
    stream.frame(1, "action_call", { ...call, status: "isRunning" });
    FakeSocket.all[0]?.say("action_call", { ...call, status: "isRunning" });
    FakeSocket.all[0]?.say("action_call", { ...call, status: "isRunning" });
    await screen.findByText("old isRunning 3 undefined");
    view.rerender(<Page><Chart title="new" render /><Talk /></Page>); // prettier-ignore
    stream.frame(2, "action_call", { ...call, status: "done", output: "6" });
    await screen.findByText("new done 3 6");
    expect(FakeSocket.all[0]?.replies("action_call_result")).toEqual([
      { toolCallId: "c", sessionId: "$s", result: 6 },
    ]);
    stream.frame(3, "done").end();
    oracle.history = [
      { id: "h", type: "human", content: "hi" },
      {
        id: "a",
        type: "ai",
        content: "There.",
        toolCalls: [{ id: "c", name: "chart", args: { n: 3 }, status: "done", output: "6" }],
      },
    ];
    await waitFor(() => expect(screen.getByRole("status").textContent).toBe("ready"));
    FakeSocket.all[0]?.say("message_cache_invalidation", { sessionId: "$s", requestId: "other" });
    await screen.findByText(/There\./);
    expect(screen.getByText("new done 3 6")).toBeTruthy();
    view.rerender(<Page><Chart title="x" render={false} /><Talk /></Page>); // prettier-ignore
    await waitFor(() => expect(screen.queryByText(/done 3 6/)).toBeNull());
  });
});

describe("the components of useChat", () => {
  const shown: StoredMessage = {
    id: "a",
    type: "ai",
    content: "Look: ",
    toolCalls: [
      {
        id: "c-1",
        name: "search",
        args: { q: "x" },
        status: "done",
        component: { name: "Card", args: { title: "tea" } },
      },
    ],
  };
  const Card = ({ title }: { title: string }) => <b>{`card ${title}`}</b>;

  /** A page as the contract shows it: the components go to useChat, the content alone is drawn. */
  function Talk({ uiComponents }: { uiComponents?: UIComponents }) {
    const chat = useChat(chatOptions(uiComponents ? { uiComponents } : {}));
    return chat.messages.map((m) => <p key={m.id}>{renderMessageContent(m.content)}</p>);
  }

  test("draw what is rendered without being named again, and leave with their page", async () => {
    const { Page, oracle } = page();
    oracle.history = [shown];
    const ToolCall = ({ toolName }: { toolName: string }) => <i>{`called ${toolName}`}</i>;
    const view = render(<Page><Talk uiComponents={{ Card, ToolCall }} /></Page>); // prettier-ignore
    await screen.findByText("card tea");
    expect(screen.getByText("called search")).toBeTruthy();
    view.rerender(<Page><Talk /></Page>); // prettier-ignore
    await waitFor(() => expect(screen.queryByText("card tea")).toBeNull());
    expect(screen.getByText("Look:")).toBeTruthy();
  });

  test("are the newest ones, also in messages that are not drawn again", async () => {
    const { Page, oracle } = page();
    oracle.history = [shown];
    const Row = memo(function Row({ message }: { message: IMessage }) {
      return <p>{renderMessageContent(message.content)}</p>;
    });
    function Remembered({ title }: { title: string }) {
      const chat = useChat(chatOptions({ uiComponents: { Card: () => <b>{title}</b> } }));
      return chat.messages.map((m) => <Row key={m.id} message={m} />);
    }
    const view = render(<Page><Remembered title="old" /></Page>); // prettier-ignore
    await screen.findByText("old");
    view.rerender(<Page><Remembered title="new" /></Page>); // prettier-ignore
    await screen.findByText("new");
  });

  test("that are the same in a new object draw nothing again", async () => {
    const { Page, oracle } = page();
    oracle.history = [shown];
    let drawn = 0;
    const Counted = () => <b>{`drawn ${++drawn}`}</b>;
    const Row = memo(function Row({ message }: { message: IMessage }) {
      return <p>{renderMessageContent(message.content)}</p>;
    });
    function Careless({ n }: { n: number }) {
      const chat = useChat(chatOptions({ uiComponents: { Card: Counted } }));
      return (
        <>
          {chat.messages.map((m) => (
            <Row key={m.id} message={m} />
          ))}
          <u>{`render ${n}`}</u>
        </>
      );
    }
    const view = render(<Page><Careless n={1} /></Page>); // prettier-ignore
    await screen.findByText("drawn 1");
    view.rerender(<Page><Careless n={2} /></Page>); // prettier-ignore
    await screen.findByText("render 2");
    expect(drawn).toBe(1);
  });

  test("give way to those that are named where it is drawn", async () => {
    const { Page, oracle } = page();
    oracle.history = [shown];
    function Both() {
      const chat = useChat(chatOptions({ uiComponents: { Card } }));
      const here = { Card: () => <b>here</b> };
      return chat.messages.map((m) => <p key={m.id}>{renderMessageContent(m.content, here)}</p>);
    }
    render(<Page><Both /></Page>); // prettier-ignore
    await screen.findByText("here");
  });
});

describe("render counts", () => {
  const old: StoredMessage[] = Array.from({ length: 200 }, (_, i) => ({
    id: `m-${i}`,
    type: i % 2 ? "ai" : "human",
    content: `message ${i}`,
  }));

  /** Streams tokens at 200 a second and counts what is drawn. */
  async function streamed(streamingMode: StreamingMode, tokens: number) {
    const made = page();
    const { Page, oracle } = made;
    oracle.history = old;
    const drawn = new Map<string, number>();
    const Row = memo(function Row({ message }: { message: IMessage }) {
      drawn.set(message.id, (drawn.get(message.id) ?? 0) + 1);
      return <p>{renderMessageContent(message.content)}</p>;
    });
    let commits = 0;
    function Talk() {
      const chat = useChat(chatOptions({ streamingMode }));
      return (
        <>
          <button onClick={() => void chat.sendMessage("hi")}>send</button>
          {chat.messages.map((m) => (
            <Row key={m.id} message={m} />
          ))}
        </>
      );
    }
    render(<Page><Profiler id="t" onRender={() => commits++}><Talk /></Profiler></Page>); // prettier-ignore
    const stream = await talking(made);
    await waitFor(() => expect(drawn.get("r-1")).toBe(1));
    drawn.clear();
    commits = 0;
    vi.useFakeTimers({
      toFake: [
        "setTimeout",
        "clearTimeout",
        "requestAnimationFrame",
        "cancelAnimationFrame",
        "Date",
      ],
    });
    for (let i = 0; i < tokens; i++) {
      stream.frame(i + 1, "message", { content: "token " });
      if (i % 2 === 1) await act(() => vi.advanceTimersByTimeAsync(10));
    }
    await act(() => vi.advanceTimersByTimeAsync(200));
    vi.useRealTimers();
    const text = screen.getByText(/token/).textContent?.length;
    return { text, live: drawn.get("r-1") ?? 0, others: drawn.size - 1, commits, oracle };
  }

  test("batched: ten a second, and finished messages never", async () => {
    const { text, live, others, oracle } = await streamed("batched", 2000);
    expect(text).toBe(2000 * 6);
    expect(live).toBeGreaterThan(50);
    expect(live).toBeLessThanOrEqual(200);
    expect(others).toBe(0);
    expect(oracle.requests("POST", /./)).toHaveLength(1);
  });

  test("immediate: at most once a frame", async () => {
    const { text, live, others } = await streamed("immediate", 600);
    expect(text).toBe(600 * 6);
    expect(live).toBeGreaterThan(100);
    expect(live).toBeLessThanOrEqual(3200 / 16);
    expect(others).toBe(0);
  });
});
