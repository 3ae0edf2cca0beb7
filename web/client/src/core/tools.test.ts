import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import {
  declareActions,
  declareTools,
  defineTool,
  readCall,
  runAction,
  runTool,
  type AgAction,
} from "./tools";

const colour = {
  toolName: "getColour",
  description: "Colour of a thing",
  schema: z.object({ of: z.string() }),
  fn: async ({ of }: { of: string }) => ({ [of]: "blue" }),
};

describe("browser tools", () => {
  test("are declared with their schema", () => {
    expect(declareTools({ anything: colour })).toEqual([
      {
        name: "getColour",
        description: "Colour of a thing",
        schema: expect.objectContaining({ type: "object", required: ["of"] }),
      },
    ]);
    expect(declareTools(undefined)).toEqual([]);
  });

  test("run with checked arguments, found by the name they declare", async () => {
    expect(await runTool({ anything: colour }, "getColour", { of: "sky" })).toEqual({
      result: { sky: "blue" },
    });
    const { result, error } = await runTool({ anything: colour }, "getColour", { of: 1 });
    expect(result).toBeNull();
    expect(error).toContain("Expected string");
  });

  test.each(["nope", "constructor", "__proto__", "toString"])("%s is not found", async (name) => {
    expect(await runTool({ colour }, name, {})).toEqual({
      result: null,
      error: `Tool ${name} not found`,
    });
  });

  test("what they throw is told; what they do not return is null", async () => {
    const thrown = { ...colour, fn: () => Promise.reject(new Error("denied")) };
    expect(await runTool({ thrown }, "getColour", { of: "x" })).toEqual({
      result: null,
      error: "denied",
    });
    const silent = { ...colour, schema: undefined, fn: () => undefined };
    expect(await runTool({ silent }, "getColour", undefined)).toEqual({ result: null });
  });
});

describe("tools of any Standard Schema", () => {
  const spell = defineTool({
    toolName: "spell",
    description: "Spells a word",
    schema: {
      "~standard": {
        validate: async (value: unknown) =>
          typeof (value as { word?: unknown }).word === "string"
            ? { value: { word: (value as { word: string }).word.trim() } }
            : { issues: [{ message: "word is missing" }, { message: "nothing to spell" }] },
      },
    },
    fn: ({ word }) => [...word],
  });

  test("run with what it makes of the arguments, and say what it finds wrong", async () => {
    expect(await runTool({ spell }, "spell", { word: " ab " })).toEqual({ result: ["a", "b"] });
    expect(await runTool({ spell }, "spell", {})).toEqual({
      result: null,
      error: "word is missing; nothing to spell",
    });
  });

  test("are read from their calls, and nothing from others", () => {
    const call = { id: "c", name: "spell", args: { word: "ab" }, status: "done" as const };
    const read = (more: object) => readCall(spell, { ...call, ...more });
    expect(read({ output: '["a","b"]' })).toEqual({ args: { word: "ab" }, output: ["a", "b"] });
    expect(read({ output: "no JSON" })?.output).toBe("no JSON");
    expect(read({ status: "isRunning" })?.output).toBeUndefined();
    expect(read({ output: "{}", error: "broken" })?.output).toBeUndefined();
    expect(read({ name: "other" })).toBeUndefined();
    expect(readCall(undefined, call)).toBeUndefined();
  });
});

describe("actions", () => {
  const handler = vi.fn(async ({ n }: { n: number }) => n * 2);
  const action: AgAction = {
    name: "double",
    description: "Doubles",
    parameters: z.object({ n: z.number() }),
    handler,
    hasRender: true,
  };

  test("are declared, and whether they draw", () => {
    expect(declareActions([action, { ...action, name: "quiet", hasRender: false }])).toMatchObject([
      { name: "double", hasRender: true },
      { name: "quiet" },
    ]);
    expect(declareActions([{ ...action, hasRender: false }])[0]).not.toHaveProperty("hasRender");
  });

  test("run with checked arguments; bad ones never reach the handler", async () => {
    expect(await runAction(action, "double", { n: 2 })).toEqual({ result: 4 });
    handler.mockClear();
    const { result, error } = await runAction(action, "double", { n: "2" });
    expect(result).toEqual({ success: false, error });
    expect(error).toContain("Expected number");
    expect(handler).not.toHaveBeenCalled();
  });

  test("an unknown one is a failure", async () => {
    const error = "Action tool zzz not found";
    expect(await runAction(undefined, "zzz", {})).toEqual({
      result: { success: false, error },
      error,
    });
  });
});
