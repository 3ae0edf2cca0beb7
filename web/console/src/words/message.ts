/**
 * Messages of the language files: `{name}`, `{count, plural, one {# file} other {# files}}`,
 * `{kind, select, folder {…} other {…}}` and `<link>…</link>`, one within another. Nothing is
 * escaped: a brace or a tag that is meant as such comes in as a value.
 */
export type Node =
  | string
  | { name: string }
  | { name: string; kind: "plural" | "select"; forms: Record<string, Node[]> }
  | { tag: string; inside: Node[] };

/** Reads a message. One that is not well formed is refused with the place. */
export function parse(text: string): Node[] {
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at += found[0].length;
    return found;
  };
  const refuse = (): never => {
    throw new Error(`not well formed at ${at}: ${text}`);
  };
  const nodes = (): Node[] => {
    const all: Node[] = [];
    for (let found; at < text.length;) {
      if ((found = take(/[^{}<]+|<(?![a-z]\w*>|\/)/y))) all.push(found[0]);
      else if ((found = take(/<([a-z]\w*)>/y))) {
        const tag = found[1] ?? "";
        const inside = nodes();
        if (take(/<\/([a-z]\w*)>/y)?.[1] !== tag) refuse();
        all.push({ tag, inside });
      } else if ((found = take(/\{(\w+)\}/y))) all.push({ name: found[1] ?? "" });
      else if ((found = take(/\{(\w+), (plural|select),/y))) {
        const forms: Record<string, Node[]> = {};
        const [, name = "", kind] = found as unknown as [string, string, "plural" | "select"];
        while (!take(/\s*\}/y)) {
          const form = take(/\s*([=\w]+)\s*\{/y)?.[1] ?? refuse();
          forms[form] = nodes();
          if (!take(/\}/y)) refuse();
        }
        if (!forms["other"]) refuse();
        all.push({ name, kind, forms });
      } else break;
    }
    return all;
  };
  const all = nodes();
  if (at < text.length) refuse();
  return all;
}

/**
 * What a message says: its parts, in order, with the values and tags in their places. A value is
 * shown, or a form is chosen by it.
 */
export function parts<T>(
  message: readonly Node[],
  locale: string,
  value: (name: string, isShown: boolean) => T | string | number | undefined,
  tag: (name: string, inside: (T | string)[]) => T | string,
  count?: number,
): (T | string)[] {
  const numeral = (n: number) => n.toLocaleString(locale);
  return message.flatMap((node): (T | string)[] => {
    if (typeof node === "string") {
      return [count === undefined ? node : node.replaceAll("#", numeral(count))];
    }
    if ("tag" in node) return [tag(node.tag, parts(node.inside, locale, value, tag, count))];
    const given = value(node.name, !("kind" in node));
    if (!("kind" in node)) {
      return [typeof given === "number" ? numeral(given) : (given ?? `{${node.name}}`)];
    }
    const n = node.kind === "plural" ? Number(given) : count;
    const form =
      node.kind === "plural"
        ? (node.forms[`=${n}`] ?? node.forms[new Intl.PluralRules(locale).select(Number(n))])
        : node.forms[String(given)];
    return parts(form ?? node.forms["other"] ?? [], locale, value, tag, n);
  });
}
