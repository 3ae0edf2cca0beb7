import type { Labels } from "./labels";

type Words = Pick<Labels, "yes" | "no" | "nothing">;

const words = (name: string) => name.replace(/[_-]+/g, " ").trim();

/** What a tool is called among people; those of other servers are SERVER__TOOL. */
export function nameOf(toolName: string): { tool: string; server: string } {
  const at = toolName.indexOf("__");
  return at > 0
    ? { tool: words(toolName.slice(at + 2)) || toolName, server: words(toolName.slice(0, at)) }
    : { tool: words(toolName) || toolName, server: "" };
}

/** The arguments of a call by their names, in words where they have some. */
export function argumentsInWords(
  args: Record<string, unknown>,
  labels: Words,
): [name: string, value: string][] {
  return Object.entries(args ?? {}).map(([name, value]) => [
    words(name.replace(/([a-z])([A-Z])/g, "$1 $2")).toLowerCase(),
    inWords(value, labels),
  ]);
}

function inWords(value: unknown, labels: Words): string {
  if (value === null || value === undefined || value === "") return labels.nothing;
  if (typeof value === "boolean") return value ? labels.yes : labels.no;
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((v) => v === null || typeof v !== "object")) {
    return value.length > 0 ? value.map((v) => inWords(v, labels)).join(", ") : labels.nothing;
  }
  return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
}
