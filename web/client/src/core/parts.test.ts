import { describe, expect, test } from "vitest";
import { componentMessage, humanMessage } from "./entries";
import { settle } from "./history";
import { emptyReply, messageOf, withFrame } from "./reply";
import type { Frame } from "./turn";
import type { ICitation, IToolCall, StoredMessage } from "./types";

/** Numbers that look random and are the same every time. */
function dice(seed: number): (sides: number) => number {
  let state = seed + 1;
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % sides;
  };
}

const passage = (number: number): ICitation => ({
  number,
  passage: `c/d/${number}`,
  collection: "c",
  document: "d",
  title: "Water",
  text: "It is wet.",
});

/** A turn of any shape: as its stream tells it, and as the history keeps it. */
function anyTurn(seed: number): { frames: Frame[]; stored: StoredMessage[] } {
  const roll = dice(seed);
  const frames: Frame[] = [];
  const stored: StoredMessage[] = [];
  const say = (event: string, data: Record<string, unknown>) => void frames.push({ event, data });
  const words = (name: string) => Array.from({ length: roll(4) }, (_, i) => `${name} ${i}. `);
  const steps = 1 + roll(4);
  for (let step = 0; step < steps; step++) {
    const thoughts = words(`thought ${step}`);
    const said = words(`text ${step}`);
    for (const reasoning of thoughts) say("reasoning", { reasoning, isComplete: false });
    if (thoughts.length > 0) say("reasoning", { reasoning: "", isComplete: true });
    for (const content of said) say("message", { content });
    const calls = Array.from({ length: step < steps - 1 ? 1 + roll(3) : 0 }, (_, i): IToolCall => {
      const failed = roll(4) === 0;
      return {
        id: `call-${step}-${i}`,
        name: "look",
        args: { q: i },
        status: failed ? "error" : "done",
        ...(failed ? { error: "it failed" } : { output: JSON.stringify({ ok: i }) }),
        ...(roll(3) === 0 ? { component: { name: "Card", args: { i } } } : {}),
      };
    });
    const told = ({ id, name, args }: IToolCall) => ({ eventId: id, toolName: name, args });
    for (const call of calls) say("tool_call", { ...told(call), status: "isRunning" });
    for (const call of calls.toReversed()) {
      const { status, output, error, component } = call;
      say("tool_call", { ...told(call), status, output, error });
      if (component) {
        const { name: componentName, args } = component;
        say("render_component", { componentName, args, eventId: call.id });
      }
    }
    stored.push({
      id: `stored-${step}`,
      type: "ai",
      content: said.join(""),
      isComplete: true,
      ...(thoughts.length > 0 ? { reasoning: thoughts.join("") } : {}),
      // The history has outputs as JSON once more.
      ...(calls.length > 0
        ? {
            toolCalls: calls.map((call) =>
              call.output === undefined ? call : { ...call, output: JSON.stringify(call.output) },
            ),
          }
        : {}),
    });
  }
  // The stream tells once, at the end, what the history has with each step.
  const cited = Array.from({ length: roll(4) }, (_, i) => passage(i + 1));
  if (cited.length > 0) say("citations", { citations: cited });
  cited.forEach((citation, i) => {
    const step = stored[Math.floor((i * steps) / cited.length)];
    if (step) step.citations = [...(step.citations ?? []), citation];
  });
  say("done", { status: "finished" });
  return { frames, stored };
}

const now = "2026-11-16T02:00:00.000Z";

describe("a message", () => {
  test("has its files behind its words, when it is sent and when it is read again", () => {
    const files = ["map.png", "well.txt"].map((filename) => ({
      filename,
      mimetype: "x/y",
      cid: "b",
    }));
    const sent = humanMessage("How deep?", files);
    const stored = { id: "s", type: "human", content: "How deep?", attachments: files } as const;
    const [reloaded] = settle([stored], [], new Map());
    expect(reloaded?.parts).toEqual(sent.parts);
    expect(sent.parts).toEqual([
      { type: "text", text: "How deep?" },
      ...files.map((file) => ({ type: "file", file })),
    ]);
  });

  test("that shows something of no call has it as a part", () => {
    const shown = { componentName: "Card", args: { n: 1 }, requestId: "r", sessionId: "$s" };
    const { content, parts } = componentMessage(shown, now);
    expect(parts).toEqual([{ type: "component", component: content }]);
  });
});

describe("a reply", () => {
  test("has the same parts in the same order while it streams and after a reload", () => {
    for (let seed = 0; seed < 500; seed++) {
      const { frames, stored } = anyTurn(seed);
      const shown = messageOf(frames.reduce(withFrame, emptyReply("live", now)));
      const [reloaded, ...more] = settle(stored, [], new Map());
      expect(more).toEqual([]);
      for (const key of ["parts", "content", "toolCalls", "reasoning"] as const) {
        expect(shown[key], `${key} of turn ${seed}`).toEqual(reloaded?.[key]);
      }
    }
  });

  test("has what a call shows behind the call", () => {
    const call = { eventId: "c", toolName: "look", args: {} };
    const frames = [
      { event: "tool_call", data: { ...call, status: "isRunning" } },
      { event: "render_component", data: { componentName: "Card", args: { n: 1 }, eventId: "c" } },
      { event: "message", data: { content: "There." } },
    ];
    const { parts } = messageOf(frames.reduce(withFrame, emptyReply("live", now)));
    expect(parts?.map(({ type }) => type)).toEqual(["tool", "component", "text"]);
    expect(parts?.[1]).toMatchObject({ component: { name: "Card", props: { args: { n: 1 } } } });
  });

  test("gets what it points to from the history when its stream broke off before", () => {
    const frames = [{ event: "message", data: { content: "It is wet [1]." } }];
    const live = messageOf(frames.reduce(withFrame, emptyReply("live", now)));
    const stored: StoredMessage = { id: "s", type: "ai", content: "It is wet [1]." };
    const ids = new Map([["s", "live"]]);
    expect(settle([stored], [{ ...live, isComplete: true }], ids)[0]?.parts).toBe(live.parts);
    const [told] = settle([{ ...stored, citations: [passage(1)] }], [live], ids);
    expect(told?.parts?.at(-1)).toEqual({ type: "citation", citation: passage(1) });
  });

  test("keeps text, call, text, call, text in order", () => {
    const frames = [0, 1, 2].flatMap((at): Frame[] => {
      const said = { event: "message", data: { content: `Text ${at}. ` } };
      if (at === 2) return [said];
      const call = { eventId: `c-${at}`, toolName: "look", args: {} };
      return [
        said,
        { event: "tool_call", data: { ...call, status: "isRunning" } },
        { event: "tool_call", data: { ...call, status: "done", output: "{}" } },
      ];
    });
    const { content } = messageOf(frames.reduce(withFrame, emptyReply("live", now)));
    expect(content).toMatchObject([
      "Text 0. ",
      { props: { id: "c-0" } },
      "Text 1. ",
      { props: { id: "c-1" } },
      "Text 2. ",
    ]);
  });

  test("keeps what is left of it when the oracle tells it shorter, longer or anew", () => {
    for (const [partialText, want] of [
      ["One. Tw", ["One. ", "c", "Tw"]],
      ["On", ["On", "c"]],
      ["One. Two. Three.", ["One. ", "c", "Two. Three."]],
      ["Other.", ["c", "Other."]],
    ] as const) {
      const reply = [
        { event: "message", data: { content: "One. " } },
        { event: "tool_call", data: { eventId: "c", toolName: "look", args: {} } },
        { event: "message", data: { content: "Two. " } },
        { event: "done", data: { status: "aborted", partialText } },
      ].reduce(withFrame, emptyReply("live", now));
      const parts = reply.parts.map((part) =>
        "text" in part ? part.text : part.type === "tool" ? part.call.id : "cited",
      );
      expect(parts).toEqual(want);
    }
  });
});
