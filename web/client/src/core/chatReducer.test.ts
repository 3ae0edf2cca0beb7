import { describe, expect, test } from "vitest";
import { ai, human } from "../testkit/chat";
import { nextTurn, stateOf, unopened, type ChatModel } from "./chatModel";
import { reduce, type ChatAction } from "./chatReducer";
import { PaymentRequiredError, RequestError } from "./errors";
import type { IMessage, StoredMessage } from "./types";

const now = "2026-11-16T02:00:00.000Z";
const mine = (id: string, content = id): IMessage => ({ id, type: "human", content });
const ask = (id: string, more: Partial<ChatAction> = {}) =>
  ({ type: "asked", mine: mine(id), isBehind: false, ...more }) as ChatAction;
const accept = (turn: number, replyId = `r-${turn}`): ChatAction => ({
  type: "accepted",
  turn,
  requestId: replyId,
  runId: undefined,
  replyId,
  createdAt: now,
  now,
});
const frame = (turn: number, event: string, data: Record<string, unknown> = {}): ChatAction => ({
  type: "framed",
  turn,
  frame: { event, data },
  now,
});
const say = (turn: number, content: string) => frame(turn, "message", { content });
const contents = (model: ChatModel) => stateOf(model).messages.map((m) => m.content);

/** Nothing in it can be changed from here on. */
function frozen<T>(value: T): T {
  if (value === null || typeof value !== "object" || Object.isFrozen(value)) return value;
  if (value instanceof Error) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) frozen(inner);
  return value;
}

function after(...actions: ChatAction[]): ChatModel {
  return actions.reduce((model, action) => frozen(reduce(model, action)), frozen(unopened));
}

describe("a turn", () => {
  const turn = nextTurn(unopened);

  test("goes from submitted over streaming to ready, and asks nobody for what it told", () => {
    const sent = after(ask("hi"));
    expect(stateOf(sent)).toMatchObject({ status: "submitted", messages: [mine("hi")] });
    const streaming = after(ask("hi"), accept(turn), say(turn, "Hel"), say(turn, "lo"));
    expect(stateOf(streaming).status).toBe("streaming");
    expect(contents(streaming)).toEqual(["hi", "Hello"]);
    const over = [frame(turn, "done"), { type: "ended", turn } as const];
    const ready = [...over, { type: "settled", isWhole: true } as const].reduce(reduce, streaming);
    expect(stateOf(ready)).toMatchObject({ status: "ready", run: undefined });
    expect(ready.conversation.pending).toEqual([]);
    expect(stateOf(ready).messages[0]).toBe(stateOf(streaming).messages[0]);
  });

  test("that is not the newest says nothing any more, and what it said stays", () => {
    const first = after(ask("one"), accept(turn), say(turn, "First"));
    const second = reduce(first, ask("two"));
    expect(contents(second)).toEqual(["one", "First", "two"]);
    for (const late of [say(turn, "!"), accept(turn), { type: "ended", turn } as const]) {
      expect(reduce(second, late)).toBe(second);
    }
    const refused = reduce(second, { type: "refused", turn, mine: mine("one"), cause: "no" });
    expect(stateOf(refused).status).toBe("submitted");
  });

  test("that was refused keeps its message, says why, and is forgotten with the next one", () => {
    const cause = new RequestError(500, "broken");
    const message = mine("hi");
    const asked = after({ type: "asked", mine: message, isBehind: false });
    const refused = reduce(asked, { type: "refused", turn, mine: message, cause });
    expect(stateOf(refused)).toMatchObject({ status: "error", sendMessageError: cause });
    expect(contents(refused)).toEqual(["hi"]);
    expect(contents(reduce(refused, ask("again")))).toEqual(["again"]);
    const unpaid = new PaymentRequiredError(402, "pay", ["c-1"]);
    const poor = reduce(asked, { type: "refused", turn, mine: message, cause: unpaid });
    expect(stateOf(poor)).toMatchObject({ status: "ready", sendMessageError: undefined });
  });

  test("that was asked anew and refused leaves everything as it was, the reply before it too", () => {
    const first = after(ask("one"), accept(turn), say(turn, "First"));
    const anew = ask("one, again", { question: "one" } as Partial<ChatAction>);
    const asked = reduce(first, anew);
    expect(contents(asked)).toEqual(["one, again"]);
    const refused = reduce(asked, {
      type: "refused",
      turn: nextTurn(first),
      mine: mine("one, again"),
      cause: new RequestError(409, "busy"),
    });
    expect(contents(refused)).toEqual(["one", "First"]);
    const taken = reduce(asked, accept(nextTurn(first)));
    expect(taken.turn?.before).toBeUndefined();
  });

  test("fails with what the oracle said, unless it went on and was finished", () => {
    const failing = [ask("hi"), accept(turn), frame(turn, "error", { error: "Out of words" })];
    const end = [
      { type: "ended", turn },
      { type: "settled", isWhole: false },
    ] as const;
    const failed = stateOf(after(...failing, ...end));
    expect(failed).toMatchObject({ status: "error", error: { message: "Out of words" } });
    expect(failed.messages.at(-1)?.parts).toEqual([{ type: "error", text: "Out of words" }]);
    const done = frame(turn, "done", { status: "finished" });
    expect(stateOf(after(...failing, done, ...end))).toMatchObject({
      status: "ready",
      error: undefined,
    });
  });
});

describe("a history", () => {
  test("that was read while no turn ran takes the place of what was shown", () => {
    const read = after({ type: "loaded", page: { messages: [human("h", "hi")] }, epoch: 0 });
    expect(stateOf(read)).toMatchObject({ isLoading: false, hasEarlier: false });
    const turn = nextTurn(read);
    const live = [ask("more"), accept(turn), say(turn, "Yes")].reduce(reduce, read);
    const page = { messages: [human("h", "hi"), human("m", "more")] };
    // Asked for before the turn, or during it: the reply is not in it.
    for (const epoch of [0, undefined]) {
      const loaded = reduce(live, { type: "loaded", page, epoch });
      expect(contents(loaded)).toEqual(["hi", "more", "Yes"]);
    }
    const ended = reduce(live, { type: "ended", turn });
    const whole = { messages: [...page.messages, ai("a", "Yes")] };
    const loaded = reduce(ended, { type: "loaded", page: whole, epoch: ended.epoch });
    expect(stateOf(loaded).messages.map((m) => m.id)).toEqual(["h", "more", `r-${turn}`]);
  });

  test("that could not be read says so until it is, and no longer than the error of a turn", () => {
    const unread = after({ type: "unread", cause: new Error("away") });
    expect(stateOf(unread)).toMatchObject({ isLoading: false, error: { message: "away" } });
    const page = { messages: [] };
    expect(stateOf(reduce(unread, { type: "loaded", page, epoch: 0 })).error).toBeUndefined();
    const other = reduce(unread, { type: "failed", cause: new Error("other") });
    const read = reduce(other, { type: "loaded", page, epoch: 0 });
    expect(stateOf(read).error?.message).toBe("other");
  });
});

describe("a page that was on its way for long", () => {
  const page = (...messages: StoredMessage[]): Extract<ChatAction, { type: "loaded" }> => ({
    type: "loaded",
    page: { messages },
    epoch: undefined,
  });
  const past = [human("h", "hi"), ai("a", "Hello")];
  const late = page(...past, human("m", "more"), ai("b", "Yes"));
  const read = after({ ...page(...past), epoch: 0 });
  const turn = nextTurn(read);

  test("does not show once more what is being sent, answered, or was answered just now", () => {
    let model = read;
    const steps: [ChatAction, string[]][] = [
      [ask("more"), []],
      [accept(turn), [""]],
      [say(turn, "Yes"), ["Yes"]],
      [{ type: "ended", turn }, ["Yes"]],
    ];
    for (const [step, reply] of steps) {
      model = reduce(model, step);
      for (const epoch of [0, undefined]) {
        const told = reduce(model, { ...late, epoch });
        expect(contents(told), step.type).toEqual(["hi", "Hello", "more", ...reply]);
      }
    }
    const over = [late, { type: "settled", isWhole: true } as const].reduce(reduce, model);
    expect(contents(over)).toEqual(["hi", "Hello", "more", "Yes"]);
  });

  test("does not show once more what another tab's turn says", () => {
    const asked = reduce(read, { ...page(...past, human("m", "more")), epoch: 0 });
    const joining = { runId: "run", status: "running" } as const;
    const live = [
      { type: "joined", run: joining, isForeign: true } as const,
      accept(nextTurn(asked)),
      say(nextTurn(asked), "Yes"),
    ].reduce(reduce, asked);
    const told = reduce(live, { ...late, epoch: 0 });
    expect(contents(told)).toEqual(["hi", "Hello", "more", "Yes"]);
    expect(told.turn?.isStale, "its end is read from the history").toBe(true);
  });

  test("shows what was said before, and nothing of the turn, to who wrote before it came", () => {
    const live = [ask("more"), accept(1), say(1, "Yes")].reduce(reduce, unopened);
    expect(contents(reduce(live, late))).toEqual(["hi", "Hello", "more", "Yes"]);
    const joining = { runId: "run", status: "running" } as const;
    const joined = [
      { type: "joined", run: joining, isForeign: true } as const,
      accept(1),
      say(1, "Yes"),
    ].reduce(reduce, unopened);
    expect(contents(reduce(joined, late))).toEqual(["hi", "Hello", "more", "Yes"]);
  });

  test("leaves a reply that was interrupted in its place", () => {
    const live = [ask("more"), accept(turn), say(turn, "Yes"), ask("and?")].reduce(reduce, read);
    const told = reduce(live, page(...late.page.messages, human("n", "and?")));
    expect(contents(told)).toEqual(["hi", "Hello", "more", "Yes", "and?"]);
  });
});

/** Numbers that look random and are the same every time. */
function dice(seed: number): (sides: number) => number {
  let state = seed + 1;
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % sides;
  };
}

/** Whatever may happen next, late and useless things too. */
function anyAction(model: ChatModel, at: number, roll: (sides: number) => number): ChatAction {
  const turn = Math.max(1, model.epoch - roll(3));
  const shown = stateOf(model).messages;
  const one = shown[roll(Math.max(1, shown.length))];
  const page = { messages: [human(`h-${roll(9)}`, `h-${at}`), ai(`a-${at}`, "A")] };
  const made: ChatAction[] = [
    ask(`m-${at}`),
    ask(`m-${at}`, (one ? { question: one.id } : {}) as Partial<ChatAction>),
    { type: "joined", run: { runId: `run-${at}`, status: "running" }, isForeign: true },
    accept(turn, `r-${at}`),
    say(turn, `word ${at} `),
    frame(turn, "tool_call", { eventId: `c-${roll(3)}`, toolName: "look", args: {} }),
    frame(turn, "run", { requestId: `q-${at}` }),
    frame(turn, "error", { error: "no" }),
    frame(turn, "done"),
    { type: "refused", turn, mine: one ?? mine("x"), cause: new Error("no") },
    { type: "ended", turn },
    { type: "settled", isWhole: roll(2) === 0 },
    { type: "outdated" },
    { type: "loaded", page, epoch: roll(2) === 0 ? model.epoch : undefined },
    { type: "unread", cause: new Error("away") },
    { type: "loadingEarlier" },
    { type: "earlier", page, cursor: model.conversation.cursor ?? "x" },
    { type: "rated", id: one?.id ?? "x", feedback: { rating: "up" } },
    { type: "replaced", messages: shown.slice(-5) },
    { type: "cleared" },
  ];
  return made[roll(made.length)] ?? { type: "cleared" };
}

test("whatever happens, nothing is changed in place, nothing is shown twice, and nothing grows for ever", () => {
  for (let seed = 0; seed < 100; seed++) {
    const roll = dice(seed);
    let model = frozen(unopened);
    for (let at = 0; at < 150; at++) {
      const action = frozen(anyAction(model, at, roll));
      model = frozen(reduce(model, action));
      const state = stateOf(model);
      const ids = state.messages.map((m) => m.id);
      expect(new Set(ids).size, `seed ${seed}, ${action.type} at ${at}`).toBe(ids.length);
      expect(stateOf(model, state)).toBe(state);
      expect(model.followed.length).toBeLessThanOrEqual(100);
    }
  }
});

test("whenever a page of the history comes, each message is shown once and in its place", () => {
  for (let seed = 0; seed < 100; seed++) {
    const roll = dice(seed);
    const server: StoredMessage[] = [];
    let model = unopened;
    let epoch: number | undefined;
    let reading: StoredMessage[] | "asked" | undefined;
    const tell = (action: ChatAction) => {
      model = frozen(reduce(model, frozen(action)));
      const numbers = stateOf(model).messages.map((m) => `${m.type} ${String(m.content).slice(1)}`);
      const told = numbers.filter((one) => !one.endsWith(" "));
      const inOrder = [...told].sort((a, b) => Number(a.split(" ")[1]) - Number(b.split(" ")[1]));
      expect(told, `seed ${seed}, ${action.type}`).toEqual(inOrder);
      expect(new Set(told).size, `seed ${seed}, ${action.type}`).toBe(told.length);
    };
    const request = (during: boolean) => {
      [reading, epoch] = ["asked", during ? undefined : model.epoch];
    };
    const deliver = () => {
      const messages = reading === "asked" ? [...server] : (reading ?? []);
      reading = undefined;
      tell({ type: "loaded", page: { messages }, epoch });
    };
    /** A page is asked for, answered by the server, or comes; or not yet. */
    const meanwhile = (isRunning: boolean) => {
      for (let i = roll(3); i > 0; i--) {
        if (!reading) request(isRunning);
        else if (reading === "asked" && roll(2)) reading = [...server];
        else deliver();
      }
    };
    for (let n = 1; n <= 8; n++) {
      const isForeign = roll(2) === 0;
      meanwhile(false);
      if (isForeign) {
        server.push(human(`h-${n}`, `q${n}`));
        if (reading) deliver();
        request(false);
        deliver();
        meanwhile(false);
      }
      const turn = nextTurn(model);
      const run = { runId: `run-${n}`, status: "running" } as const;
      tell(
        isForeign
          ? { type: "joined", run, isForeign }
          : ({ ...ask(`m-${n}`), mine: mine(`m-${n}`, `q${n}`) } as ChatAction),
      );
      meanwhile(true);
      if (!isForeign) server.push(human(`h-${n}`, `q${n}`));
      meanwhile(true);
      tell(accept(turn, `r-${n}`));
      meanwhile(true);
      server.push(ai(`a-${n}`, `A${n}`));
      meanwhile(true);
      tell(say(turn, `A${n}`));
      meanwhile(true);
      tell(frame(turn, "done"));
      tell({ type: "ended", turn });
      const isWhole = !reading && model.turn?.isStale === false;
      if (reading) deliver();
      if (!isWhole) {
        request(false);
        deliver();
      }
      tell({ type: "settled", isWhole });
      expect(contents(model), `seed ${seed}, after turn ${n}`).toEqual(
        server.map((m) => m.content),
      );
    }
  }
});

test("only so many requests and ids are remembered", () => {
  let model = unopened;
  for (let at = 0; at < 1500; at++) {
    const turn = nextTurn(model);
    const settled = { type: "settled", isWhole: true } as const;
    for (const action of [ask(`m-${at}`), accept(turn), say(turn, "A"), settled]) {
      model = reduce(model, action);
    }
    // Whoever chooses other versions forgets what was shown.
    const { conversation } = reduce(model, { type: "replaced", messages: [] });
    const { streamed, shownIds } = model.conversation;
    model = { ...model, conversation: { ...conversation, streamed, shownIds } };
    const page = { messages: [human(`h-${at}`, `m-${at + 1}`), ai(`a-${at}`, "A")] };
    if (at % 2) model = reduce(model, { type: "loaded", page, epoch: model.epoch });
  }
  expect(model.followed).toHaveLength(100);
  expect(model.conversation.streamed.size).toBeLessThanOrEqual(1002);
  expect(model.conversation.shownIds.size).toBeLessThanOrEqual(1002);
});
