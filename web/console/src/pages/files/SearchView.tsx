import { useEffect, useState } from "react";
import { messageOf, plural, short } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { unlessGone } from "../../shell/late";
import { markedWords } from "../../shell/marked";
import type { Files, SearchHit } from "./api";

interface Found {
  hits: SearchHit[];
  behind: number;
  /** The newest CID and version of each file that was hit. */
  newest: Map<string, { cid: string; version: number }>;
}

/** Where words were found: file, lines, and which version that is. */
export function SearchView(props: { files: Files; text: string; onOpen: (path: string) => void }) {
  const { files, text } = props;
  const [found, setFound] = useState<Found>();
  const [error, setError] = useState("");
  useEffect(() => {
    async function run(): Promise<Found> {
      const { hits, behind } = await files.search(text);
      const ids = [...new Set(hits.map((h) => h.fileId))];
      const records = await Promise.all(ids.map((id) => files.file(id).catch(() => undefined)));
      const newest = new Map(
        records.flatMap((r) => (r ? [[r.id, { cid: r.cid, version: r.version }]] : [])) as [
          string,
          { cid: string; version: number },
        ][],
      );
      return { hits, behind, newest };
    }
    return unlessGone(run(), setFound, (cause) => setError(messageOf(cause)));
  }, [files, text]);
  if (error) {
    return (
      <p role="alert" className="notice bad">
        {error}
      </p>
    );
  }
  return (
    <section className="card hits" aria-label="Search results" aria-busy={!found}>
      <p className="soft small" role="status">
        {found
          ? `${plural(found.hits.length, "hit")} for “${text}”` +
            (found.behind > 0 ? `; ${plural(found.behind, "change")} not read yet` : "")
          : "Searching…"}
      </p>
      {found?.hits.length === 0 && (
        <div className="nothing">
          <Icon name="search" />
          <p>Nothing found.</p>
          <p className="soft small">New files take a moment to be indexed.</p>
        </div>
      )}
      <ol className="plain">
        {found?.hits.map((hit, i) => {
          const newest = found.newest.get(hit.fileId);
          return (
            <li key={i}>
              <button type="button" className="quiet name" onClick={() => props.onOpen(hit.path)}>
                <Icon name="file" />
                <span>{hit.path.slice(1)}</span>
              </button>
              <span className="soft small block where">
                {hit.lineStart !== undefined &&
                  (hit.lineEnd && hit.lineEnd !== hit.lineStart
                    ? `lines ${hit.lineStart} to ${hit.lineEnd}`
                    : `line ${hit.lineStart}`)}
                {newest &&
                  (newest.cid === hit.cid
                    ? ` · version ${newest.version}, the newest`
                    : ` · an older version, ${short(hit.cid)}`)}
              </span>
              {hit.preview && (
                <pre className="hit">
                  {markedWords(hit.preview, text).map((part, n) =>
                    part.isFound ? <mark key={n}>{part.text}</mark> : part.text,
                  )}
                </pre>
              )}
            </li>
          );
        })}
      </ol>
    </section>
  );
}
