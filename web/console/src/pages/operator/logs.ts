/** A line of the log, as the server wrote it. */
export type LogRecord = Record<string, unknown>;

export interface LogLine {
  /** The same for the same line, also when others came. */
  key: string;
  time: string;
  level: string;
  text: string;
  /** What else the line says, as name and value. */
  rest: [string, string][];
}

/** Lines as they are shown, the newest first. */
export function linesOf(records: LogRecord[]): LogLine[] {
  const seen = new Map<string, number>();
  return records
    .map(({ time, level, msg, ...rest }) => {
      const whole = JSON.stringify([time, level, msg, rest]);
      const times = (seen.get(whole) ?? 0) + 1;
      seen.set(whole, times);
      return {
        key: `${times} ${whole}`,
        time: wordsOf(time),
        level: wordsOf(level).toLowerCase(),
        text: wordsOf(msg),
        rest: Object.entries(rest).map(([name, value]): [string, string] => [name, wordsOf(value)]),
      };
    })
    .reverse();
}

function wordsOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** What is asked for: the least severity, and a part of the line. */
export function logsPath(level: string, contains: string): string {
  const asked = new URLSearchParams({ level });
  if (contains.trim()) asked.set("contains", contains.trim());
  return `/operator/logs?${asked}`;
}
