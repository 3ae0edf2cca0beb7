import { messageOf as inWords } from "@castalia/oracles-ui/parts";
import { explained, labelsNow, localeNow, say } from "../words";

/** Sizes and times as people say them, in their language. */

export function bytes(size: number): string {
  return labelsNow().size(size);
}

const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 365 * 86_400],
  ["month", 30 * 86_400],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

/** "3 minutes ago", "in 2 days". */
export function ago(when: string | number, now = Date.now()): string {
  const seconds = Math.round((new Date(when).getTime() - now) / 1000);
  if (Number.isNaN(seconds)) return "";
  for (const [unit, size] of steps) {
    if (Math.abs(seconds) < size) continue;
    // A week that has just begun is seven days; what is past counts when it is whole.
    const whole = seconds > 0 ? Math.round : Math.trunc;
    const relative = new Intl.RelativeTimeFormat(localeNow(), { numeric: "auto" });
    return relative.format(whole(seconds / size), unit);
  }
  return say("shell.justNow");
}

/** "Jan 1, 2026"; what is no date stays as it is. */
export function date(when: string): string {
  const at = new Date(when);
  if (Number.isNaN(at.getTime())) return when;
  return at.toLocaleDateString(localeNow(), { dateStyle: "medium", timeZone: "UTC" });
}

/** A moment, by default to the second; what is no date stays as it is. */
export function moment(when: string, options?: Intl.DateTimeFormatOptions): string {
  const at = new Date(when);
  return Number.isNaN(at.getTime()) ? when : at.toLocaleString(localeNow(), options);
}

/** How long something took or lasts. */
export function duration(seconds: number): string {
  const n = Math.round;
  if (seconds < 1) return say("shell.milliseconds", { n: n(seconds * 1000) });
  if (seconds < 120) return say("shell.seconds", { n: n(seconds) });
  if (seconds < 7200) return say("shell.minutes", { n: n(seconds / 60) });
  if (seconds < 172_800) return say("shell.hours", { n: n(seconds / 3600) });
  return say("shell.days", { n: n(seconds / 86_400) });
}

/** A quantity without a word. */
export function number(n: number, options?: Intl.NumberFormatOptions): string {
  return n.toLocaleString(localeNow(), options);
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${number(n)} ${n === 1 ? one : many}`;
}

/** "a, b, c", or "a and b" for a conjunction. */
export function list(of: readonly string[], type: Intl.ListFormatType = "unit"): string {
  const style = type === "unit" ? "short" : "long";
  return new Intl.ListFormat(localeNow(), { type, style }).format(of);
}

/** A long id with its middle left out. */
export function short(id: string, head = 10, tail = 4): string {
  return id.length <= head + tail + 1 ? id : `${id.slice(0, head)}…${id.slice(-tail)}`;
}

/** What went wrong, in words. */
export function messageOf(cause: unknown): string {
  const said = inWords(cause, labelsNow());
  // Errors of calls have what the server calls them; those of requests were told above.
  if (!(cause instanceof Error) || !cause.name.startsWith("Call")) return said;
  const { status, code } = cause as { status?: number; code?: string };
  return explained({ status, code, message: said });
}
