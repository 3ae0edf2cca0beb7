import { useDeferredValue, useState } from "react";
import { Problem } from "../../shell/Problem";
import { Skeleton } from "../../shell/Skeleton";
import { say } from "../../words";
import { useLook } from "./api";
import { linesOf, logsPath, type LogLine, type LogRecord } from "./logs";

/** As the lines have them. */
const levels = ["debug", "info", "warn", "error"];

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
          {say("operator.partOfLine")}
          <input
            type="search"
            data-entry
            maxLength={200}
            value={words}
            onChange={(event) => setWords(event.target.value)}
          />
        </label>
        <label>
          {say("operator.severity")}
          <select value={level} onChange={(event) => setLevel(event.target.value)}>
            {levels.map((one) => (
              <option key={one} dir="auto">
                {one}
              </option>
            ))}
          </select>
        </label>
      </div>
      {!data && !error && <Skeleton lines={6} label={say("operator.readingLog")} />}
      {data && (
        <p className="soft small">
          {lines.length === 0
            ? say("operator.noLines")
            : say("operator.lines", { count: lines.length, node: data.node })}{" "}
          {data.more && say("operator.earlierLines")}
        </p>
      )}
      {lines.length > 0 && (
        <ol className="plain card journal" aria-label={say("operator.log")}>
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
        <span className={isBad ? "bad" : undefined} dir="auto">
          {line.level}
        </span>
      </span>
      <div dir="auto">
        {line.text}
        {line.rest.length > 0 && (
          <p className="mono soft small" dir="auto">
            {line.rest.map(([name, value]) => `${name}=${value}`).join(" ")}
          </p>
        )}
      </div>
    </li>
  );
}
