import type { Node } from "./message";

/*
 * English as no language is: accents on every letter, a third longer, between brackets. What a
 * test sees without brackets did not come from a language file; what breaks would break in Swahili.
 */

const accents = new Map(
  Array.from("aáeéiíoóuúyýcçnñsšzžAÁEÉIÍOÓUÚCÇNÑSŠ".match(/../g) ?? [], (two) => [two[0], two[1]]),
);

function accented(text: string): string {
  return Array.from(text, (letter) => accents.get(letter) ?? letter).join("");
}

/** Letters of a message, as far as they can be seen in it. */
function lengthOf(nodes: readonly Node[]): number {
  let length = 0;
  for (const node of nodes) {
    if (typeof node === "string") length += node.length;
    else if ("tag" in node) length += lengthOf(node.inside);
    else if ("kind" in node) length += lengthOf(node.forms["other"] ?? []);
    else length += 4;
  }
  return length;
}

function within(nodes: readonly Node[]): Node[] {
  return nodes.map((node) => {
    if (typeof node === "string") return accented(node);
    if ("tag" in node) return { ...node, inside: within(node.inside) };
    if (!("kind" in node)) return node;
    const forms = Object.entries(node.forms).map(([form, inside]) => [form, within(inside)]);
    return { ...node, forms: Object.fromEntries(forms) as Record<string, Node[]> };
  });
}

export function marked(message: readonly Node[]): Node[] {
  const more = Math.ceil(lengthOf(message) * 0.35) - 2;
  const longer =
    more > 0
      ? " lorem ipsum dolor"
          .repeat(1 + more / 18)
          .slice(0, more)
          .trimEnd()
      : "";
  return ["⟦", ...within(message), `${longer}⟧`];
}
