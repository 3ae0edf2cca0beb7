import type { Key } from "../../words";

/** Sums of a Prometheus text by metric name, over all labels. */
export function parseMetrics(text: string): Map<string, number> {
  const out = new Map<string, number>();
  for (const line of text.split("\n")) {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{[^}]*\})?\s+(\S+)/.exec(line);
    const value = Number(match?.[2]);
    if (!match?.[1] || !Number.isFinite(value)) continue;
    out.set(match[1], (out.get(match[1]) ?? 0) + value);
  }
  return out;
}

export interface Metric {
  name: string;
  title: Key;
  value: number;
}

const worth: [string, Key, number?][] = [
  ["castalia_http_requests_total", "operator.requestsAnswered"],
  ["castalia_http_requests_in_flight", "operator.requestsUnderWay"],
  ["castalia_sockets", "operator.liveChannels"],
  ["castalia_ussd_answers_total", "operator.telephoneAnswers"],
  ["castalia_database_writes_total", "operator.writesStored"],
  ["castalia_identity_tokens_refused_total", "operator.tokensRefused"],
  ["process_resident_memory_bytes", "operator.memory", 1 / (1 << 20)],
  ["go_goroutines", "operator.goroutines"],
  ["process_open_fds", "operator.openFiles"],
];

/** The few figures that tell an operator most. */
export function chosenMetrics(all: Map<string, number>): Metric[] {
  return worth.flatMap(([name, title, factor = 1]) => {
    const value = all.get(name);
    return value === undefined ? [] : [{ name, title, value: value * factor }];
  });
}
