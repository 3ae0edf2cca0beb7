/** A piece of a text, found or not. */
export interface MarkedPart {
  text: string;
  isFound: boolean;
}

/** Splits a text where something of the pattern stands. */
function split(text: string, pattern: string): MarkedPart[] {
  const parts: MarkedPart[] = [];
  let last = 0;
  for (const match of text.matchAll(new RegExp(pattern, "giu"))) {
    parts.push({ text: text.slice(last, match.index), isFound: false });
    parts.push({ text: match[0], isFound: true });
    last = match.index + match[0].length;
  }
  parts.push({ text: text.slice(last), isFound: false });
  return parts.filter((part) => part.text !== "");
}

/** The words, to the letter, in a pattern; one that nothing has when there are none. */
function anyOf(words: string[]): string {
  return words.map((w) => w.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|") || "(?!)";
}

/** A text in parts: what a search by words, anywhere in them, looks for is found. */
export function markedAnywhere(text: string, search: string): MarkedPart[] {
  return split(text, anyOf(search.split(/\s+/).filter(Boolean)));
}
