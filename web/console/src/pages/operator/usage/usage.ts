import { date, number } from "../../../shell/format";
import { localeNow, say, type Key } from "../../../words";

/** A line of what GET /operator/usage says. */
export interface Sum {
  day?: string;
  model?: string;
  source?: string;
  messages: number;
  calls: number;
  failed: number;
  inputTokens: number;
  outputTokens: number;
  costMicros: number;
}

export interface Sums {
  usage: Sum[];
  total: Sum;
}

/** What GET /operator/usage/spenders says. */
export interface Spenders {
  month: string;
  spenders: {
    user: string;
    messages: number;
    calls: number;
    tokens: number;
    costMicros: number;
  }[];
}

/** What GET /operator/usage/credits says. */
export interface Credits {
  on: boolean;
  credits: { day: string; granted: number; spent: number }[];
}

export const ranges = [7, 30, 90] as const;
export type Range = (typeof ranges)[number];

/** What sums are split by. */
export type Split = "source" | "model";

/** How much of something there was on each day. */
export interface Series {
  name: string;
  values: number[];
}

/** What is drawn of sums. */
export interface Measure {
  title: Key;
  of: (sum: Sum) => number;
  /** Says a number of it. */
  text: (n: number) => string;
}

export const measures: Measure[] = [
  { title: "usage.messagesPerDay", of: (sum) => sum.messages, text: (n) => number(n) },
  {
    title: "usage.tokensPerDay",
    of: (sum) => sum.inputTokens + sum.outputTokens,
    text: (n) => number(n),
  },
  { title: "usage.costPerDay", of: (sum) => sum.costMicros, text: costOf },
];

const oneDay = 86_400_000;

/** The last days of UTC, today included, the oldest first. */
export function lastDays(n: number, now = Date.now()): string[] {
  return Array.from({ length: n }, (_, i) =>
    new Date(now - (n - 1 - i) * oneDay).toISOString().slice(0, 10),
  );
}

/** This month and those before it, the newest first. */
export function lastMonths(n: number, now = Date.now()): string[] {
  const today = new Date(now);
  return Array.from({ length: n }, (_, i) =>
    new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - i, 1))
      .toISOString()
      .slice(0, 7),
  );
}

/** "November 2026" */
export function monthName(month: string): string {
  return new Date(`${month}-01T00:00:00Z`).toLocaleDateString(localeNow(), {
    month: "long",
    year: "numeric",
    timeZone: "UTC",
  });
}

export function sumsPath(days: readonly string[], split: Split): string {
  return `/operator/usage?${new URLSearchParams({
    from: days[0] ?? "",
    to: days.at(-1) ?? "",
    by: `day,${split}`,
  })}`;
}

/** How many kinds are told apart; the smaller ones are one. */
export const mostSeries = 5;

/** Sums as one line of numbers for each kind, the largest first, days without any as nothing. */
export function seriesOf(
  sums: readonly Sum[],
  days: readonly string[],
  split: Split,
  of: Measure["of"],
): Series[] {
  const at = new Map(days.map((day, i) => [day, i]));
  const found = new Map<string, number[]>();
  for (const sum of sums) {
    const i = at.get(sum.day ?? "");
    if (i === undefined || of(sum) === 0) continue;
    const name = sum[split] ?? "";
    const values = found.get(name) ?? days.map(() => 0);
    values[i] = (values[i] ?? 0) + of(sum);
    found.set(name, values);
  }
  const all = [...found]
    .map(([name, values]) => ({ name: nameOf(name, split), values }))
    .sort((a, b) => added(b.values) - added(a.values));
  if (all.length <= mostSeries) return all;
  const rest = all.slice(mostSeries - 1);
  return [
    ...all.slice(0, mostSeries - 1),
    { name: say("usage.others"), values: dailySums(rest, days.length) },
  ];
}

function nameOf(name: string, split: Split): string {
  if (name === "") return say("usage.others");
  return split === "source" ? say("usage.channel", { source: name }) : name;
}

export function added(values: readonly number[]): number {
  return values.reduce((sum, n) => sum + n, 0);
}

/** What all kinds have on each day. */
export function dailySums(all: readonly Series[], days: number): number[] {
  return Array.from({ length: days }, (_, i) =>
    all.reduce((sum, one) => sum + (one.values[i] ?? 0), 0),
  );
}

const round = [1, 1.5, 2, 3, 4, 5, 6, 8];

/** The end of a scale: the first round number that is not smaller. */
export function scaleOf(most: number): number {
  if (most <= 0) return 1;
  const ten = 10 ** Math.floor(Math.log10(most));
  return (round.find((n) => n * ten >= most) ?? 10) * ten;
}

/** Millionths, in the currency of the models' prices. */
export function costOf(micros: number): string {
  const digits = micros === 0 || micros >= 1e6 ? 2 : 4;
  return number(micros / 1e6, { minimumFractionDigits: 2, maximumFractionDigits: digits });
}

/** A picture in words. */
export function wordsOf(
  days: readonly string[],
  all: readonly Series[],
  text: Measure["text"],
): string {
  const daily = dailySums(all, days.length);
  const most = Math.max(...daily);
  if (!(most > 0)) return say("usage.nothing");
  return say("usage.inWords", {
    total: text(added(daily)),
    day: date(days[daily.indexOf(most)] ?? ""),
    most: text(most),
  });
}
