import { say } from "../../../words";

/** Numbers with their labels, as an oracle sends them. */
export interface ChartData {
  title: string;
  kind: "bar" | "line" | "table";
  labels: string[];
  values: number[];
}

const most = 60;

/** Reads what an oracle sent; throws on what cannot be drawn. */
export function readChart(value: unknown): ChartData {
  const data = (value ?? {}) as Partial<Record<keyof ChartData, unknown>>;
  if (!Array.isArray(data.values) || data.values.length === 0) {
    throw new Error(say("conversation.valuesNotList"));
  }
  if (data.values.length > most) throw new Error(say("conversation.tooManyValues", { most }));
  const values = data.values.map(Number);
  if (!values.every(Number.isFinite)) throw new Error(say("conversation.valuesNotNumbers"));
  const given = Array.isArray(data.labels) ? data.labels : [];
  return {
    title: typeof data.title === "string" ? data.title.slice(0, 200) : "",
    kind: data.kind === "line" || data.kind === "table" ? data.kind : "bar",
    labels: values.map((_, i) => String(given[i] ?? i + 1).slice(0, 60)),
    values,
  };
}

/** Round numbers that hold all values, zero among them. */
export function scale(values: number[]): { low: number; high: number; ticks: number[] } {
  const min = Math.min(0, ...values);
  const max = Math.max(0, ...values);
  const span = max - min || 1;
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? rough;
  const low = Math.floor(min / step) * step;
  const high = Math.max(low + step, Math.ceil(max / step) * step);
  const count = Math.round((high - low) / step);
  return { low, high, ticks: Array.from({ length: count + 1 }, (_, i) => low + i * step) };
}
