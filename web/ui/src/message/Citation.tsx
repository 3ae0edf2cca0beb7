import { useLabels } from "../labels";

export interface CitationProps {
  /** What the document is called. */
  title: string;
  /** What it says, word for word. */
  text: string;
  /** What the answer calls it, as [1]. */
  number?: number | undefined;
  page?: number | undefined;
  /** The headings above it, outermost first; the last one is shown. */
  headings?: string[] | undefined;
  collectionName?: string | undefined;
  /** More around it, folded. */
  passage?: string | undefined;
  /** Where it can be opened; nothing but http, https and paths is followed. */
  href?: string | undefined;
}

const bare = (text: string) => text.replace(/\s+/g, "");

/** What a document says, and where it says so. */
export function Citation(props: CitationProps) {
  const { title, text, number, page, headings = [], collectionName, passage = text, href } = props;
  const labels = useLabels();
  const where = [page ? labels.page(page) : "", headings.at(-1) ?? "", collectionName ?? ""];
  const isSafe = href !== undefined && /^(https?:\/\/|\/(?![/\\])|[?#])/i.test(href);
  return (
    <figure className="castalia-citation">
      <blockquote dir="auto">{text}</blockquote>
      <figcaption>
        {number !== undefined && <span>[{number}] </span>}
        {isSafe ? <a href={href}>{title}</a> : <bdi>{title}</bdi>}
        {where
          .filter((one) => one !== "" && one !== title)
          .map((one) => ` · ${one}`)
          .join("")}
      </figcaption>
      {bare(passage) !== bare(text) && (
        <details>
          <summary>{labels.wholePassage}</summary>
          <p dir="auto">{passage}</p>
        </details>
      )}
    </figure>
  );
}
