import { useEffect, useState } from "react";
import { messageOf, plural, short } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { unlessGone } from "../../shell/late";
import { markedAnywhere } from "../../shell/marked";
import type { Files } from "./api";
import { places, type Place } from "./found";

interface Found {
  text: string;
  places: Place[];
  behind: number;
  /** The newest CID and version of each file that was hit, by its path. */
  newest: Map<string, { cid: string; version: number }>;
}

/** Where words, or parts of them, were found: file, lines, and which version that is. */
export function SearchView(props: { files: Files; text: string; onOpen: (path: string) => void }) {
  const { files, text } = props;
  const [found, setFound] = useState<Found>();
  const [error, setError] = useState("");
  useEffect(() => {
    async function run(): Promise<Found> {
      const [names, { hits, behind }, matches] = await Promise.all([
        files.byName(text),
        files.search(text),
        files.containing(text),
      ]);
      const newest = new Map<string, { cid: string; version: number }>();
      for (const file of [...names, ...matches]) newest.set(file.path, file);
      const rest = [...new Set(hits.map((hit) => hit.path))].filter((path) => !newest.has(path));
      const asked = await Promise.all(rest.map((path) => files.stat(path).catch(() => undefined)));
      for (const file of asked) if (file) newest.set(file.path, file);
      return { text, places: places(names, hits, matches), behind, newest };
    }
    return unlessGone(
      run(),
      (result) => {
        setFound(result);
        setError("");
      },
      (cause) => setError(messageOf(cause)),
    );
  }, [files, text]);
  if (error) {
    return (
      <p role="alert" className="notice bad">
        {error}
      </p>
    );
  }
  return (
    <section
      className="card hits"
      aria-label="Search results"
      aria-busy={!found || found.text !== text}
    >
      <p className="soft small" role="status">
        {found
          ? `${plural(found.places.length, "hit")} for “${found.text}”` +
            (found.behind > 0 ? `; ${plural(found.behind, "change")} not read yet` : "")
          : "Searching…"}
      </p>
      {found?.places.length === 0 && (
        <div className="nothing">
          <Icon name="search" />
          <p>Nothing found.</p>
          <p className="soft small">New files take a moment to be indexed.</p>
        </div>
      )}
      <ol className="plain">
        {found?.places.map((place) => (
          <li key={place.key}>
            <button type="button" className="quiet name" onClick={() => props.onOpen(place.path)}>
              <Icon name="file" />
              <span>
                <Marked text={place.path.slice(1)} words={place.lines ? "" : found.text} />
              </span>
            </button>
            <span className="soft small block where">
              {[linesOf(place), versionOf(place, found)].filter(Boolean).join(" · ")}
            </span>
            {place.preview && (
              <pre className="hit">
                <Marked text={place.preview} words={found.text} />
              </pre>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

function Marked({ text, words }: { text: string; words: string }) {
  return markedAnywhere(text, words).map((part, n) =>
    part.isFound ? <mark key={n}>{part.text}</mark> : part.text,
  );
}

function linesOf({ lines }: Place): string {
  if (!lines) return "";
  return lines[0] === lines[1] ? `line ${lines[0]}` : `lines ${lines[0]} to ${lines[1]}`;
}

function versionOf({ path, cid }: Place, { newest }: Found): string {
  const file = newest.get(path);
  if (!file) return "";
  return file.cid === cid
    ? `version ${file.version}, the newest`
    : `an older version, ${short(cid)}`;
}
