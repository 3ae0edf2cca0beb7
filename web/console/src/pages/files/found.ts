import type { ContentMatch, FileRecord, SearchHit } from "./api";

/** A place that a search found. */
export interface Place {
  key: string;
  path: string;
  /** Where in the file, if not in its name. */
  lines?: [from: number, to: number];
  preview?: string;
  cid: string;
}

/**
 * Patterns for files whose name has a part. The store's patterns tell capitals apart, so a part is
 * looked for as it is written, in small letters, and as a word begins. What means something in a
 * pattern is any character here.
 */
export function namePatterns(part: string): string[] {
  const plain = part.replace(/[*?/]/g, "?");
  const small = plain.toLowerCase();
  const capital = small.replace(/^./u, (first) => first.toUpperCase());
  return [...new Set([plain, small, capital])].map((name) => `**/*${name}*`);
}

/** One list: files by their name, then words, then parts of words in files that have no hit yet. */
export function places(names: FileRecord[], hits: SearchHit[], matches: ContentMatch[]): Place[] {
  const found: Place[] = names.map(({ id, path, cid }) => ({ key: `name ${id}`, path, cid }));
  const named = new Set(names.map(({ path }) => path));
  hits.forEach((hit, i) => {
    if (hit.lineStart === undefined && named.has(hit.path)) return; // the same, by the index
    found.push({
      key: `word ${i}`,
      path: hit.path,
      cid: hit.cid,
      ...(hit.lineStart === undefined
        ? {}
        : { lines: [hit.lineStart, hit.lineEnd ?? hit.lineStart] }),
      ...(hit.preview ? { preview: hit.preview } : {}),
    });
  });
  const known = new Set(hits.filter((hit) => hit.lineStart !== undefined).map((hit) => hit.path));
  for (const { id, path, cid, lines, snippet } of matches) {
    if (known.has(path)) continue;
    const [first] = lines;
    found.push({
      key: `part ${id}`,
      path,
      cid,
      ...(first === undefined ? {} : { lines: [first, first] }),
      ...(snippet ? { preview: snippet } : {}),
    });
  }
  return found;
}
