import { Lexer, Tokenizer, type Token, type Tokens } from "marked";

/** How deep lists, quotes and emphasis nest. Marks that go deeper are text. */
export const deepest = 16;

/** How many characters of one text are searched for the ends of emphasis. */
export const searchable = 1_000_000;

/** How many characters a link has, with its text; an address has no more by itself. */
export const longestLink = 2_000;

/**
 * The rules of `marked`, with a bound on the work that a text can ask for.
 * Its search for the end of emphasis starts again at every mark, it follows
 * nesting by recursion, and it looks for setext headings and bare addresses by
 * patterns that backtrack. So the first is paid from a budget, the second has a
 * depth, and the others are read by patterns of our own or not at all. HTML is
 * text here. Reference links are not read: a definition that comes late would
 * change blocks that are drawn already.
 */
class BoundedTokenizer extends Tokenizer {
  #depth = 0;
  #searched = 0;

  #within<T>(read: () => T): T | undefined {
    if (this.#depth >= deepest) return undefined;
    this.#depth++;
    try {
      return read();
    } finally {
      this.#depth--;
    }
  }

  #search<T>(src: string, read: () => T): T | undefined {
    if (this.#searched + src.length > searchable) return undefined;
    this.#searched += src.length;
    return this.#within(read);
  }

  override blockquote(src: string) {
    return this.#within(() => super.blockquote(src));
  }

  override list(src: string) {
    return this.#within(() => super.list(src));
  }

  override link(src: string) {
    if (!/^!?\[/.test(src)) return undefined;
    return this.#within(() => super.link(src.slice(0, longestLink)));
  }

  override emStrong(src: string, maskedSrc: string, prevChar?: string) {
    if (!/^[*_]/.test(src)) return undefined;
    return this.#search(src, () => super.emStrong(src, maskedSrc, prevChar));
  }

  override del(src: string, maskedSrc: string, prevChar?: string) {
    if (!src.startsWith("~")) return undefined;
    return this.#search(src, () => super.del(src, maskedSrc, prevChar));
  }

  override url(src: string): Tokens.Link | undefined {
    const found = /^https?:\/\/[^\s<>`]{1,2000}/i.exec(src);
    const raw = found && withoutTail(found[0]);
    if (!raw || !/\/\/[^/]/.test(raw)) return undefined;
    const text: Tokens.Text = { type: "text", raw, text: raw, escaped: false };
    return { type: "link", raw, href: raw, text: raw, tokens: [text] };
  }

  /** Takes one character, or a run of blanks or backticks, and what follows up to anything that may be a mark. */
  override inlineText(src: string): Tokens.Text | undefined {
    const raw = /^(?: +|`+|[^])(?:[^\\<![`*~_\nhH ]| (?! ))*/.exec(src)?.[0];
    return raw ? { type: "text", raw, text: raw, escaped: false } : undefined;
  }

  override html() {
    return undefined;
  }
  override tag() {
    return undefined;
  }
  override def() {
    return undefined;
  }
  override lheading() {
    return undefined;
  }
}

/** An address without the punctuation of the sentence around it. */
function withoutTail(address: string): string {
  let surplus = 0;
  for (const c of address) surplus += c === ")" ? 1 : c === "(" ? -1 : 0;
  let end = address.length;
  for (; end > 0; end--) {
    const last = address.charAt(end - 1);
    if (last === ")" && surplus > 0) surplus--;
    else if (!"?!.,:;*_~'\"".includes(last)) break;
  }
  return address.slice(0, end);
}

export function lexMarkdown(text: string): Token[] {
  return new Lexer({ gfm: true, tokenizer: new BoundedTokenizer() }).lex(text);
}
