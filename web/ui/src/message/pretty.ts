/** JSON with its indents, also when it came as a text in JSON. */
export function pretty(text: string | undefined): string {
  if (!text) return "";
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? pretty(value) : JSON.stringify(value, null, 2);
  } catch {
    return text;
  }
}
