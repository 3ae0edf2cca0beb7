import { describe, expect, test } from "vitest";
import { z as z3 } from "zod";
import { z as z4 } from "zod/v4";
import * as mini from "zod/v4-mini";
import { jsonSchema } from "./schema";

enum Level {
  Low = 1,
  High = 2,
}

const expected = {
  type: "object",
  properties: {
    name: { type: "string", description: "Whose" },
    age: { type: "integer" },
    height: { type: "number" },
    vip: { type: "boolean" },
    nick: { type: "string" },
    colour: { anyOf: [{ type: "string" }, { type: "null" }] },
    kind: { const: "person" },
    level: { enum: [1, 2] },
    tags: { type: "array", items: { type: "string" } },
    extra: { type: "object", additionalProperties: { type: "number" } },
    either: { anyOf: [{ type: "string" }, { type: "number" }] },
    pair: {
      type: "array",
      items: [{ type: "string" }, { type: "number" }],
      minItems: 2,
      maxItems: 2,
    },
    trimmed: { type: "string" },
  },
  required: [
    "name",
    "age",
    "height",
    "vip",
    "colour",
    "kind",
    "level",
    "tags",
    "extra",
    "either",
    "pair",
    "trimmed",
  ],
  additionalProperties: false,
};

describe("jsonSchema", () => {
  test("reads version 3", () => {
    const schema = z3.object({
      name: z3.string().describe("Whose"),
      age: z3.number().int(),
      height: z3.number(),
      vip: z3.boolean(),
      nick: z3.string().default("x"),
      colour: z3.string().nullable(),
      kind: z3.literal("person"),
      level: z3.nativeEnum(Level),
      tags: z3.array(z3.string()),
      extra: z3.record(z3.number()),
      either: z3.union([z3.string(), z3.number()]),
      pair: z3.tuple([z3.string(), z3.number()]),
      trimmed: z3.string().transform((s) => s.trim()),
    });
    expect(jsonSchema(schema)).toEqual(expected);
  });

  test("reads version 4 by structure", () => {
    const schema = z4.object({
      name: z4.string().describe("Whose"),
      age: z4.number().int(),
      height: z4.number(),
      vip: z4.boolean(),
      nick: z4.string().default("x"),
      colour: z4.string().nullable(),
      kind: z4.literal("person"),
      level: z4.enum(Level),
      tags: z4.array(z4.string()),
      extra: z4.record(z4.string(), z4.number()),
      either: z4.union([z4.string(), z4.number()]),
      pair: z4.tuple([z4.string(), z4.number()]),
      trimmed: z4.string().transform((s) => s.trim()),
    });
    expect(jsonSchema(schema)).toEqual(expected);
  });

  test("reads the mini edition of version 4", () => {
    const schema = mini.object({ a: mini.string(), b: mini.optional(mini.number()) });
    expect(jsonSchema(schema)).toMatchObject({
      properties: { a: { type: "string" }, b: { type: "number" } },
      required: ["a"],
    });
  });

  test("a schema that knows itself is believed", () => {
    const known = { type: "object", properties: {} };
    expect(jsonSchema({ _zod: { def: {} }, toJSONSchema: () => known })).toBe(known);
  });

  test("objects that allow more say so", () => {
    expect(jsonSchema(z3.object({}).passthrough())).toMatchObject({ additionalProperties: true });
    expect(jsonSchema(z4.looseObject({}))).toMatchObject({ additionalProperties: true });
    expect(jsonSchema(z4.strictObject({}))).toMatchObject({ additionalProperties: false });
  });

  test("a schema that holds itself ends", () => {
    interface Tree {
      children: Tree[];
    }
    const tree: z3.ZodType<Tree> = z3.object({ children: z3.array(z3.lazy(() => tree)) });
    expect(jsonSchema(tree)).toMatchObject({ type: "object", required: ["children"] });
  });

  test("plain JSON Schema passes; all else is any object", () => {
    const any = { type: "object", additionalProperties: true };
    expect(jsonSchema({ type: "object", properties: {} })).toEqual({
      type: "object",
      properties: {},
    });
    const broken = {
      toJSONSchema: () => {
        throw new Error("no");
      },
    };
    for (const odd of [
      undefined,
      null,
      1,
      "x",
      z3.string(),
      z4.string(),
      { type: "string" },
      broken,
    ]) {
      expect(jsonSchema(odd)).toEqual(any);
    }
  });
});
