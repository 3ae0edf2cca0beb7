import { describe, expect, test } from "vitest";
import { ai, human } from "../testkit/chat";
import {
  empty,
  left,
  loaded,
  refused,
  sent,
  settled,
  shownMessages,
  withdrawn,
  withEarlier,
  withExtra,
  type Conversation,
} from "./conversation";
import type { IMessage } from "./types";

const mine = (id: string, content: string): IMessage => ({ id, type: "human", content });
const reply = (id: string, content: string): IMessage => ({ id, type: "ai", content });
const ids = (c: Conversation) => shownMessages(c, undefined).map((m) => m.id);

/** Nothing in it can be changed from here on. */
function frozen(c: Conversation): Conversation {
  for (const list of [c.stored, c.pending, c.extras]) Object.freeze(list).forEach(Object.freeze);
  return Object.freeze(c);
}

describe("a conversation", () => {
  test("that was streamed keeps its ids when the history tells of it", () => {
    let c = frozen(sent(empty, mine("m-1", "hi")));
    c = frozen(left(c, { ...reply("r-1", "Hello"), isComplete: false }));
    c = frozen(settled(c));
    expect(c.pending).toEqual([]);
    const page = { messages: [human("h-1", "hi"), ai("a-1", "Hello")], hasOlder: false };
    const after = loaded(c, page, undefined, true);
    expect(ids(after)).toEqual(["m-1", "r-1"]);
    expect(after.streamed.size).toBe(0);
    expect(loaded(after, page, undefined, true).stored).toEqual(after.stored);
  });

  test("shows what was refused until the next message, and knows when it was taken after all", () => {
    const first = mine("m-1", "hi");
    const c = frozen(refused(sent(empty, first), first));
    expect(ids(c)).toEqual(["m-1"]);
    expect(ids(sent(c, mine("m-2", "again")))).toEqual(["m-2"]);
    const page = { messages: [human("h-1", "hi")] };
    expect(loaded(c, page, undefined, false)).toMatchObject({ unsent: undefined, pending: [] });
    expect(loaded(c, { messages: [] }, undefined, false).unsent).toBe("m-1");
  });

  test("forgets a message that was refused while the next was under way", () => {
    const first = mine("m-1", "hi");
    const c = frozen(sent(sent(empty, first), mine("m-2", "more")));
    expect(ids(withdrawn(c, first))).toEqual(["m-2"]);
  });

  test("grows at its beginning, and begins anew when a page joins nothing", () => {
    const newest = { messages: [human("h-3", "c"), ai("a-3", "C")], hasOlder: true };
    let c = frozen(loaded(empty, newest, undefined, true));
    expect(c.cursor).toBe("h-3");
    c = frozen(withEarlier(c, { messages: [human("h-2", "b"), ai("a-2", "B")], hasOlder: true }));
    expect([ids(c), c.cursor]).toEqual([["h-2", "a-2", "h-3", "a-3"], "h-2"]);
    c = frozen(loaded(c, newest, undefined, true));
    expect([ids(c).length, c.cursor]).toEqual([4, "h-2"]);
    c = loaded(c, { messages: [human("h-9", "z")], hasOlder: true }, undefined, true);
    expect([ids(c), c.cursor]).toEqual([["h-9"], "h-9"]);
  });

  test("keeps the newest of what no history holds", () => {
    let c: Conversation = empty;
    for (let i = 0; i < 150; i++) c = frozen(withExtra(c, reply(`e-${i}`, "!"), undefined));
    expect(c.extras).toHaveLength(100);
    expect(ids(c).at(-1)).toBe("e-149");
    expect(ids(withExtra(c, reply("e-149", "?"), undefined))).toHaveLength(100);
  });
});
