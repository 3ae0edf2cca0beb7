/** A zod schema of either major version, by structure. */
export interface SchemaLike {
  parse(value: unknown): unknown;
}

/** A schema of any library that keeps to Standard Schema (standardschema.dev), by structure. */
export interface StandardLike<Output> {
  "~standard": {
    validate(value: unknown): StandardResult<Output> | Promise<StandardResult<Output>>;
  };
}

type StandardResult<Output> =
  { value: Output; issues?: undefined } | { issues: readonly { message: string }[] };

/** What a schema makes of arguments; of one that does not say, anything. */
export type SchemaOutput<Schema> =
  Schema extends StandardLike<infer Output>
    ? Output
    : Schema extends { parse(value: unknown): infer Output }
      ? Output
      : Record<string, unknown>;

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
  const def = _zod?.def ?? _def ?? {};
  const made = ofKind(kindOf(_zod, def), def, (value) => convert(value, depth + 1));
  return typeof description === "string" ? { ...made, description } : made;
}

type Inner = (schema: unknown) => JSONSchema;

/** What version 4 calls "string" is a "ZodString" in version 3. */
function kindOf(zod: AnyZod["_zod"], def: Def): string {
  return zod ? String(def["type"]) : String(def["typeName"]).slice(3).toLowerCase();
}

// Where the versions name a part differently, the one that is there is read.
function ofKind(kind: string, def: Def, inner: Inner): JSONSchema {
  switch (kind) {
    case "string":
    case "boolean":
    case "null":
      return { type: kind };
    case "date":
      return { type: "string", format: "date-time" };
    case "int":
    case "bigint":
      return { type: "integer" };
    case "number":
      return { type: isInteger(def) ? "integer" : "number" };
    case "literal": {
      const values = (def["values"] as unknown[] | undefined) ?? [def["value"]];
      return values.length === 1 ? { const: values[0] } : { enum: values };
    }
    case "enum":
    case "nativeenum":
      return { enum: enumValues((def["entries"] ?? def["values"]) as Record<string, unknown>) };
    case "array":
      return { type: "array", items: inner(def["element"] ?? def["type"]) };
    case "tuple":
      return tuple(def["items"] as unknown[], inner);
    case "record":
      return { type: "object", additionalProperties: inner(def["valueType"]) };
    case "union":
    case "discriminatedunion":
      return { anyOf: [...(def["options"] as Iterable<unknown>)].map(inner) };
    case "intersection":
      return { allOf: [inner(def["left"]), inner(def["right"])] };
    case "nullable":
      return { anyOf: [inner(def["innerType"]), { type: "null" }] };
    case "branded":
      return inner(def["type"]);
    case "lazy":
      return inner((def["getter"] as () => unknown)());
    case "object": {
      const shape = def["shape"] as Record<string, unknown> | (() => Record<string, unknown>);
      return object(typeof shape === "function" ? shape() : shape, isOpen(def), inner);
    }
  }
  // Everything else stands around another schema, or says nothing about itself.
  return inner(def["innerType"] ?? def["schema"] ?? def["in"]);
}

function isOpen(def: Def): boolean {
  const rest = (def["catchall"] as AnyZod | undefined)?._zod?.def["type"];
  return def["unknownKeys"] === "passthrough" || (rest !== undefined && rest !== "never");
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

function isInteger(def: Def): boolean {
  const checks = Array.isArray(def["checks"]) ? (def["checks"] as (AnyZod & Def)[]) : [];
  const formats = checks.map((c) => c["kind"] ?? c._zod?.def["format"]);
  return [def["format"], ...formats].some((f) => typeof f === "string" && f.includes("int"));
}

/** The values of an enum; numeric ones also carry their names backwards. */
function enumValues(entries: Record<string, unknown>): unknown[] {
  const numeric = Object.values(entries).filter((v) => typeof v === "number");
  return Object.entries(entries)
    .filter(([key]) => !numeric.includes(Number(key)))
    .map(([, value]) => value);
}
