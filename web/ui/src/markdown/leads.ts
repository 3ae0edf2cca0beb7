/**
 * Where a link leads, when its words name another place: a reader who sees
 * `bank.example` would not look where it goes. Words that name no place promise nothing.
 */
export function leadsTo(words: string, href: string): string | undefined {
  const target = placeOf(href);
  return namesIn(words).every((name) => target === name || target.endsWith(`.${name}`))
    ? undefined
    : target || href;
}

/** Whose place an address is; "" on this site. */
function placeOf(href: string): string {
  if (/^mailto:/i.test(href)) return hostOf(/@([^?]*)/.exec(href)?.[1] ?? "") ?? href;
  const host = /^https?:\/\/(?:[^/?#]*@)?([^/?#]*)/i.exec(href)?.[1];
  return host === undefined ? "" : (hostOf(host) ?? host);
}

/** The hosts that a text names, as a reader sees it: without what cannot be seen. */
function namesIn(words: string): string[] {
  return words
    .normalize("NFKC")
    .replace(/\p{Cf}/gu, "")
    .replace(/(https?:\/\/[^\s/?#]*)\S*/gi, "$1") // the path of an address names nobody
    .split(/[^\p{L}\p{M}\p{N}.。-]+/u)
    .map((word) => word.replace(/^[.。-]+|[.。-]+$/g, ""))
    .filter((word) => /[.。](?:\p{L}[\p{L}\p{M}]+|xn--[\w-]+)$/iu.test(word) || isNumeric(word))
    .map((word) => hostOf(word) ?? word.toLowerCase());
}

function isNumeric(word: string): boolean {
  return /^\d{1,3}(?:\.\d{1,3}){3}$/.test(word);
}

/** A host in the one form that browsers compare. */
function hostOf(name: string): string | undefined {
  try {
    return new URL(`http://${name}`).hostname;
  } catch {
    return undefined;
  }
}
