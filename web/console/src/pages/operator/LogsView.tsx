import { useDeferredValue, useState } from "react";
import { plural } from "../../shell/format";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { useLook } from "./api";
import { linesOf, logsPath, type LogLine, type LogRecord } from "./logs";

/** What this node logged in the last hour; the server leaves secrets and numbers out. */
export function LogsView() {
  const [level, setLevel] = useState("info");
  const [words, setWords] = useState("");
  const asked = useDeferredValue(words);
  const { data, error } = useLook<{ node: string; lines: LogRecord[]; more: boolean }>(
    logsPath(level, asked),
  );
  const lines = data ? linesOf(data.lines) : [];
  return (
    <div className="stack" aria-busy={!data && !error}>
      <Problem error={error} />
      <div className="row settings-search">
        <label className="grow">
          A part of the line
          <input
            type="search"
            data-entry
            maxLength={200}
            value={words}
            onChange={(event) => setWords(event.target.value)}
          />
        </label>
        <label>
          From this severity on
          <select value={level} onChange={(event) => setLevel(event.target.value)}>
            <option value="debug">debug</option>
            <option value="info">info</option>
            <option value="warn">warn</option>
            <option value="error">error</option>
          </select>
        </label>
      </div>
      {!data && !error && <Skeleton lines={6} label="Reading the log" />}
      {data && (
        <p className="soft small">
          {lines.length === 0
            ? "Nothing like that was logged in the last hour."
            : `${plural(lines.length, "line")} of the last hour of ${data.node}, the newest first.`}
          {data.more && " There are earlier ones."}
        </p>
      )}
      {lines.length > 0 && (
        <ol className="plain card journal" aria-label="Log">
          {lines.map((line) => (
            <Line key={line.key} line={line} />
          ))}
        </ol>
      )}
    </div>
  );
}

function Line({ line }: { line: LogLine }) {
  const isBad = line.level === "error" || line.level === "warn";
  return (
    <li>
      <span className="soft small">
        <time dateTime={line.time}>{line.time.slice(11, 19)}</time>{" "}
        <span className={isBad ? "bad" : undefined}>{line.level}</span>
      </span>
      <div>
        {line.text}
        {line.rest.length > 0 && (
          <p className="mono soft small">
            {line.rest.map(([name, value]) => `${name}=${value}`).join(" ")}
          </p>
        )}
      </div>
    </li>
  );
}
