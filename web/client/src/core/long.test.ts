import { expect, test } from "vitest";
import { nextTurn, stateOf, unopened, type ChatModel, type ChatState } from "./chatModel";
import { reduce, type ChatAction } from "./chatReducer";
import { shownMessages, type Conversation } from "./conversation";
import type { IMessage } from "./types";

const now = "2026-11-19T02:00:00.000Z";
const turn = nextTurn(unopened);

/** A long conversation, and a counter of how often somebody looks at what is watched. */
function counted(count: number) {
  const looks = { count: 0 };
  const watch = <T extends object>(what: T) =>
    new Proxy(what, {
      get(of, key) {
        looks.count++;
        return Reflect.get(of, key) as unknown;
      },
    });
  const stored = Array.from({ length: count }, (_, i) => {
    const type = i % 2 ? "ai" : "human";
    return watch<IMessage>({ id: `m-${i}`, type, content: `${i}` });
  });
  return { looks, watch, conversation: { ...unopened.conversation, stored } };
}

const component: ChatAction = {
  type: "shown",
  component: { sessionId: "s", requestId: "e-1", componentName: "Chart" },
  now,
};
const begin: ChatAction[] = [
  { type: "asked", mine: { id: "q", type: "human", content: "go" }, isBehind: false },
  { type: "accepted", turn, requestId: "r", runId: "r", replyId: "r", createdAt: now, now },
];
const word: ChatAction = {
  type: "framed",
  turn,
  frame: { event: "message", data: { content: "word " } },
  now,
};

test.each([
  ["", []],
  [", beside an entry that no history holds", [component]],
])("a word costs as much in a conversation of 10,000 messages as in one of 30%s", (_, beside) => {
  const cost = (count: number) => {
    const { looks, watch, conversation } = counted(count);
    const all = [...beside, ...begin, word];
    let model = all.reduce<ChatModel>(reduce, { ...unopened, conversation });
    let state: ChatState = stateOf(model);
    looks.count = 0;
    for (let n = 0; n < 10; n++) {
      model = reduce(model, word);
      // Also what it was before is compared with.
      state = stateOf(model, { ...state, messages: watch(state.messages) });
    }
    expect(state.messages).toHaveLength(count + beside.length + 2);
    expect(state.messages.at(-1)?.content).toBe("word ".repeat(11));
    return looks.count;
  };
  expect(cost(10_000)).toBe(cost(30));
});

test("what stands beside a reply stays where it is with every word, and goes when the reply shows it itself", () => {
  const say = (id: string): IMessage => ({ id, type: "ai", content: id });
  const c: Conversation = {
    ...unopened.conversation,
    stored: [say("a"), say("b")],
    extras: [
      { message: say("a-x"), after: ["a"] },
      { message: say("r-x"), after: ["r", "b"] },
      { message: say("e-render_component-c"), after: ["b"] },
      { message: say("lost"), after: ["gone"] },
    ],
  };
  const reply = (content: string, more: Partial<IMessage> = {}) => ({
    ...say("r"),
    content,
    ...more,
  });
  const ids = (live?: IMessage) => shownMessages(c, live).map((m) => m.id);
  const whole = ["a", "a-x", "b", "e-render_component-c", "r", "r-x", "lost"];
  expect(ids(reply("one"))).toEqual(whole);
  const next = reply("one two");
  expect(ids(next)).toEqual(whole);
  expect(shownMessages(c, next)[4]).toBe(next);
  const call = { id: "c", name: "chart", args: {}, component: { name: "Chart" } };
  const without = whole.filter((id) => !id.startsWith("e-"));
  expect(ids(reply("one two", { toolCalls: [call] }))).toEqual(without);
  expect(ids(reply("one two three", { toolCalls: [call] }))).toEqual(without);
  expect(ids()).toEqual(["a", "a-x", "b", "r-x", "e-render_component-c", "lost"]);
  expect(ids({ ...say("other") })).toEqual([
    "a",
    "a-x",
    "b",
    "r-x",
    "e-render_component-c",
    "other",
    "lost",
  ]);
});
