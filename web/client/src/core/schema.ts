/** A zod schema of either major version, by structure. */
export interface SchemaLike {
  parse(value: unknown): unknown;
}

type JSONSchema = Record<string, unknown>;
type Def = Record<string, unknown>;

interface AnyZod {
  _def?: Def;
  _zod?: { def: Def; optin?: string };
  description?: string;
  isOptional?: () => boolean;
  toJSONSchema?: () => unknown;
}

const anyObject: JSONSchema = { type: "object", additionalProperties: true };

/** Schemas may hold themselves; nobody describes a tool deeper than this. */
const maxDepth = 16;

/**
 * The JSON Schema of a zod schema. Late version 4 schemas know it themselves;
 * the usual kinds of versions 3 and 4 are read from their definition. What can
 * not be told is left open: the value is parsed with the schema itself before
 * it is used.
 */
export function jsonSchema(schema: unknown): JSONSchema {
  if (schema === null || typeof schema !== "object") return anyObject;
  const zod = schema as AnyZod;
  try {
    if (typeof zod.toJSONSchema === "function") return objectOr(zod.toJSONSchema());
    if (zod._zod || zod._def) return objectOr(convert(zod, 0));
  } catch {
    return anyObject;
  }
  return objectOr(schema);
}

function objectOr(made: unknown): JSONSchema {
  const schema = made as JSONSchema | null;
  return schema !== null && typeof schema === "object" && schema["type"] === "object"
    ? schema
    : anyObject;
}

function convert(schema: unknown, depth: number): JSONSchema {
  if (depth > maxDepth || schema === null || typeof schema !== "object") return {};
  const { _zod, _def, description } = schema as AnyZod;
  const inner = (value: unknown) => convert(value, depth + 1);
  const def = _zod?.def ?? _def ?? {};
  const made = _zod ? ofZod4(def, inner) : ofZod3(def, inner);
  return typeof description === "string" ? { ...made, description } : made;
}

type Inner = (schema: unknown) => JSONSchema;

function ofZod3(def: Def, inner: Inner): JSONSchema {
  switch (def["typeName"]) {
    case "ZodString":
      return { type: "string" };
    case "ZodDate":
      return { type: "string", format: "date-time" };
    case "ZodNumber":
      return { type: checks(def).some((c) => c["kind"] === "int") ? "integer" : "number" };
    case "ZodBigInt":
      return { type: "integer" };
    case "ZodBoolean":
      return { type: "boolean" };
    case "ZodNull":
      return { type: "null" };
    case "ZodLiteral":
      return { const: def["value"] };
    case "ZodEnum":
      return { type: "string", enum: def["values"] };
    case "ZodNativeEnum":
      return { enum: enumValues(def["values"] as Record<string, unknown>) };
    case "ZodArray":
      return { type: "array", items: inner(def["type"]) };
    case "ZodTuple":
      return tuple(def["items"] as unknown[], inner);
    case "ZodRecord":
      return { type: "object", additionalProperties: inner(def["valueType"]) };
    case "ZodUnion":
    case "ZodDiscriminatedUnion":
      return { anyOf: [...(def["options"] as Iterable<unknown>)].map(inner) };
    case "ZodIntersection":
      return { allOf: [inner(def["left"]), inner(def["right"])] };
    case "ZodNullable":
      return { anyOf: [inner(def["innerType"]), { type: "null" }] };
    case "ZodOptional":
    case "ZodDefault":
    case "ZodCatch":
    case "ZodReadonly":
      return inner(def["innerType"]);
    case "ZodBranded":
      return inner(def["type"]);
    case "ZodEffects":
      return inner(def["schema"]);
    case "ZodPipeline":
      return inner(def["in"]);
    case "ZodLazy":
      return inner((def["getter"] as () => unknown)());
    case "ZodObject": {
      const shape = (def["shape"] as () => Record<string, unknown>)();
      return object(shape, def["unknownKeys"] === "passthrough", inner);
    }
  }
  return {};
}

function ofZod4(def: Def, inner: Inner): JSONSchema {
  switch (def["type"]) {
    case "string":
      return { type: "string" };
    case "date":
      return { type: "string", format: "date-time" };
    case "int":
    case "bigint":
      return { type: "integer" };
    case "number":
      return { type: isInteger4(def) ? "integer" : "number" };
    case "boolean":
      return { type: "boolean" };
    case "null":
      return { type: "null" };
    case "literal": {
      const values = def["values"] as unknown[];
      return values.length === 1 ? { const: values[0] } : { enum: values };
    }
    case "enum":
      return { enum: enumValues(def["entries"] as Record<string, unknown>) };
    case "array":
      return { type: "array", items: inner(def["element"]) };
    case "tuple":
      return tuple(def["items"] as unknown[], inner);
    case "record":
      return { type: "object", additionalProperties: inner(def["valueType"]) };
    case "union":
      return { anyOf: (def["options"] as unknown[]).map(inner) };
    case "intersection":
      return { allOf: [inner(def["left"]), inner(def["right"])] };
    case "nullable":
      return { anyOf: [inner(def["innerType"]), { type: "null" }] };
    case "optional":
    case "nonoptional":
    case "default":
    case "prefault":
    case "catch":
    case "readonly":
      return inner(def["innerType"]);
    case "pipe":
      return inner(def["in"]);
    case "lazy":
      return inner((def["getter"] as () => unknown)());
    case "object": {
      const catchall = (def["catchall"] as AnyZod | undefined)?._zod?.def["type"];
      return object(
        def["shape"] as Record<string, unknown>,
        catchall !== undefined && catchall !== "never",
        inner,
      );
    }
  }
  return {};
}

function object(shape: Record<string, unknown>, open: boolean, inner: Inner): JSONSchema {
  const properties: Record<string, unknown> = {};
  const required: string[] = [];
  for (const [name, field] of Object.entries(shape)) {
    properties[name] = inner(field);
    if (!isOptional(field as AnyZod)) required.push(name);
  }
  return {
    type: "object",
    properties,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: open,
  };
}

function isOptional(field: AnyZod): boolean {
  return field._zod ? field._zod.optin === "optional" : (field.isOptional?.() ?? false);
}

function tuple(items: unknown[], inner: Inner): JSONSchema {
  return {
    type: "array",
    items: items.map(inner),
    minItems: items.length,
    maxItems: items.length,
  };
}

function checks(def: Def): Record<string, unknown>[] {
  return Array.isArray(def["checks"]) ? (def["checks"] as Record<string, unknown>[]) : [];
}

function isInteger4(def: Def): boolean {
  const formats = checks(def).map((c) => (c as AnyZod)._zod?.def["format"]);
  return [def["format"], ...formats].some((f) => typeof f === "string" && f.includes("int"));
}

/** The values of an enum; numeric ones also carry their names backwards. */
function enumValues(entries: Record<string, unknown>): unknown[] {
  const numeric = Object.values(entries).filter((v) => typeof v === "number");
  return Object.entries(entries)
    .filter(([key]) => !numeric.includes(Number(key)))
    .map(([, value]) => value);
}
