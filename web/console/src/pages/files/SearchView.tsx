import { keepPreviousData } from "@tanstack/react-query";
import { useAsked } from "../../shell/asked";
import { short } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { markedAnywhere } from "@castalia/oracles-ui/parts";
import { Problem } from "../../shell/Problem";
import type { Files } from "./api";
import { places, type Place } from "./found";
import { say } from "../../words";

interface Found {
  text: string;
  places: Place[];
  behind: number;
  /** The newest CID and version of each file that was hit, by its path. */
  newest: Map<string, { cid: string; version: number }>;
}

async function look(files: Files, text: string): Promise<Found> {
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

/** Where words, or parts of them, were found: file, lines, and which version that is. */
export function SearchView(props: { files: Files; text: string; onOpen: (path: string) => void }) {
  const { files, text } = props;
  const { data: found, error } = useAsked({
    queryKey: ["search", text],
    queryFn: () => look(files, text),
    placeholderData: keepPreviousData,
  });
  if (error) return <Problem error={error} />;
  return (
    <section
      className="card hits"
      aria-label={say("files.searchResults")}
      aria-busy={!found || found.text !== text}
    >
      <p className="soft small" role="status">
        {found
          ? found.behind > 0
            ? say("files.hitsBehind", {
                n: found.places.length,
                text: found.text,
                behind: found.behind,
              })
            : say("files.hits", { n: found.places.length, text: found.text })
          : say("files.searching")}
      </p>
      {found?.places.length === 0 && (
        <div className="nothing">
          <Icon name="search" />
          <p>{say("files.nothingFound")}</p>
          <p className="soft small">{say("files.indexing")}</p>
        </div>
      )}
      <ol className="plain">
        {found?.places.map((place) => (
          <li key={place.key}>
            <button type="button" className="quiet name" onClick={() => props.onOpen(place.path)}>
              <Icon name="file" />
              <span dir="auto">
                <Marked text={place.path.slice(1)} words={place.lines ? "" : found.text} />
              </span>
            </button>
            <span className="soft small block where">
              {[linesOf(place), versionOf(place, found)].filter(Boolean).join(" · ")}
            </span>
            {place.preview && (
              <pre className="hit" dir="auto">
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
  const [from, to] = lines.map(String) as [string, string];
  return from === to ? say("files.line", { line: from }) : say("files.lines", { from, to });
}

function versionOf({ path, cid }: Place, { newest }: Found): string {
  const file = newest.get(path);
  if (!file) return "";
  return file.cid === cid
    ? say("files.newestVersion", { version: String(file.version) })
    : say("files.olderVersion", { cid: short(cid) });
}
