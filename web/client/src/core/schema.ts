/** A zod schema of either major version, by structure. */
export interface SchemaLike {
  parse(value: unknown): unknown;
}

interface Zod3Def {
  typeName?: string;
  [key: string]: unknown;
}

const anyObject = { type: "object", additionalProperties: true };

/**
 * The JSON Schema of a zod schema. Version 4 schemas know it themselves; the
 * usual kinds of version 3 are read from their definition. What can not be told
 * is left open: the value is parsed with the schema itself before it is used.
 */
export function jsonSchema(schema: unknown): Record<string, unknown> {
  const own = schema as { toJSONSchema?: () => unknown; _def?: Zod3Def } | null | undefined;
  if (own && typeof own.toJSONSchema === "function") {
    try {
      const made = own.toJSONSchema();
      if (made !== null && typeof made === "object") return made as Record<string, unknown>;
    } catch {
      return anyObject;
    }
  }
  if (own?._def) {
    const made = fromZod3(own);
    return made["type"] === "object" ? made : anyObject;
  }
  const plain = schema as Record<string, unknown> | null;
  return plain && typeof plain === "object" && plain["type"] === "object" ? plain : anyObject;
}

type Zod3 = { _def?: Zod3Def; description?: string; isOptional?: () => boolean };

function fromZod3(schema: unknown): Record<string, unknown> {
  const { _def: def, description } = (schema ?? {}) as Zod3;
  const made = kindOfZod3(def ?? {});
  return description ? { ...made, description } : made;
}

function kindOfZod3(def: Zod3Def): Record<string, unknown> {
  switch (def.typeName) {
    case "ZodString":
      return { type: "string" };
    case "ZodNumber":
      return { type: "number" };
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
      return { enum: Object.values(def["values"] as object) };
    case "ZodArray":
      return { type: "array", items: fromZod3(def["type"]) };
    case "ZodRecord":
      return { type: "object", additionalProperties: fromZod3(def["valueType"]) };
    case "ZodUnion":
      return { anyOf: (def["options"] as unknown[]).map(fromZod3) };
    case "ZodDiscriminatedUnion":
      return { anyOf: [...(def["options"] as Iterable<unknown>)].map(fromZod3) };
    case "ZodNullable":
      return { anyOf: [fromZod3(def["innerType"]), { type: "null" }] };
    case "ZodOptional":
    case "ZodDefault":
    case "ZodCatch":
    case "ZodReadonly":
      return fromZod3(def["innerType"]);
    case "ZodBranded":
      return fromZod3(def["type"]);
    case "ZodEffects":
      return fromZod3(def["schema"]);
    case "ZodObject":
      return objectOfZod3(def);
  }
  return {};
}

function objectOfZod3(def: Zod3Def): Record<string, unknown> {
  const shape = (def["shape"] as () => Record<string, unknown>)();
  const properties: Record<string, unknown> = {};
  const required: string[] = [];
  for (const [name, field] of Object.entries(shape)) {
    properties[name] = fromZod3(field);
    if (!(field as Zod3).isOptional?.()) required.push(name);
  }
  return {
    type: "object",
    properties,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: def["unknownKeys"] === "passthrough",
  };
}
