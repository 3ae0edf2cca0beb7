import { describe, expect, test } from "vitest";
import { settle } from "./history";
import { emptyReply, messageOf, withFrame } from "./reply";
import type { Frame } from "./turn";
import type { IToolCall, StoredMessage } from "./types";

/** Numbers that look random and are the same every time. */
function dice(seed: number): (sides: number) => number {
  let state = seed + 1;
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % sides;
  };
}

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
  say("done", { status: "finished" });
  return { frames, stored };
}

const now = "2026-11-16T02:00:00.000Z";

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
      const parts = reply.parts.map((part) => (part.type === "tool" ? part.call.id : part.text));
      expect(parts).toEqual(want);
    }
  });
});
