import { english } from "@castalia/oracles-ui";
import { messageOf as inWords } from "@castalia/oracles-ui/parts";

/** Sizes and times as people say them. */

export const bytes = english.size;

const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 365 * 86_400],
  ["month", 30 * 86_400],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** "3 minutes ago", "in 2 days". */
export function ago(when: string | number, now = Date.now()): string {
  const seconds = Math.round((new Date(when).getTime() - now) / 1000);
  if (Number.isNaN(seconds)) return "";
  for (const [unit, size] of steps) {
    if (Math.abs(seconds) < size) continue;
    // A week that has just begun is seven days; what is past counts when it is whole.
    const whole = seconds > 0 ? Math.round : Math.trunc;
    return relative.format(whole(seconds / size), unit);
  }
  return "just now";
}

const day = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" });

/** "Jan 1, 2026"; what is no date stays as it is. */
export function date(when: string): string {
  const at = new Date(when);
  return Number.isNaN(at.getTime()) ? when : day.format(at);
}

/** How long something took or lasts. */
export function duration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} hours`;
  return `${Math.round(seconds / 86_400)} days`;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

/** A long id with its middle left out. */
export function short(id: string, head = 10, tail = 4): string {
  return id.length <= head + tail + 1 ? id : `${id.slice(0, head)}…${id.slice(-tail)}`;
}

/** What went wrong, in words. */
export function messageOf(cause: unknown): string {
  return inWords(cause, english);
}
