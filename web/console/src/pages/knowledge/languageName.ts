import { localeNow } from "../../words";

/** A language of a document for its reader; nothing where nobody knows which it is. */
export function languageName(tag: string | undefined): string {
  if (!tag || tag === "und") return "";
  try {
    return new Intl.DisplayNames([localeNow()], { type: "language" }).of(tag) ?? tag;
  } catch {
    return tag; // what looks like a language need not be one that the browser takes
  }
}
