/** A line of a comparison: in both, or only before or after. */
export interface Line {
  kind: "same" | "gone" | "new";
  text: string;
  /** Numbers of the line, from 1. */
  before?: number;
  after?: number;
}

/** Differences that are looked for; texts that differ more are shown one after the other. */
const most = 3000;

/**
 * Compares texts line by line (Myers, An O(ND) Difference Algorithm). What both begin and end with
 * costs nothing; a difference beyond the bound is all of one and all of the other.
 */
export function diff(before: string, after: string): Line[] {
  const a = linesOf(before);
  const b = linesOf(after);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end))
    end++;
  const middle = changes(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const kinds: Line["kind"][] = [
    ...new Array<Line["kind"]>(start).fill("same"),
    ...middle,
    ...new Array<Line["kind"]>(end).fill("same"),
  ];
  let i = 0;
  let j = 0;
  return kinds.map((kind) => {
    if (kind === "gone") return { kind, text: a[i] ?? "", before: ++i };
    if (kind === "new") return { kind, text: b[j] ?? "", after: ++j };
    return { kind, text: a[i] ?? "", before: ++i, after: ++j };
  });
}

function linesOf(text: string): string[] {
  const lines = text.replace(/\r\n/g, "\n").split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function changes(a: string[], b: string[]): Line["kind"][] {
  const trace: Int32Array[] = [];
  const limit = Math.min(a.length + b.length, most);
  const reach = new Int32Array(2 * limit + 2);
  for (let d = 0; d <= limit; d++) {
    trace.push(reach.slice(limit - d, limit + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const isDown =
        k === -d || (k !== d && (reach[limit + k - 1] ?? 0) < (reach[limit + k + 1] ?? 0));
      let x = isDown ? (reach[limit + k + 1] ?? 0) : (reach[limit + k - 1] ?? 0) + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x++;
      reach[limit + k] = x;
      if (x >= a.length && x - k >= b.length) return walkedBack(trace, a.length, b.length);
    }
  }
  return [
    ...new Array<Line["kind"]>(a.length).fill("gone"),
    ...new Array<Line["kind"]>(b.length).fill("new"),
  ];
}

/** The way that led to the end, from its beginning. Each step of the trace is as wide as it needs. */
function walkedBack(trace: Int32Array[], x: number, y: number): Line["kind"][] {
  const out: Line["kind"][] = [];
  for (let d = trace.length - 1; d >= 0; d--) {
    const reach = trace[d];
    const at = (k: number) => reach?.[k + d] ?? 0;
    const k = x - y;
    const isDown = k === -d || (k !== d && at(k - 1) < at(k + 1));
    const fromK = isDown ? k + 1 : k - 1;
    const fromX = d === 0 ? 0 : at(fromK);
    const fromY = d === 0 ? 0 : fromX - fromK;
    while (x > fromX && y > fromY) {
      out.push("same");
      x--;
      y--;
    }
    if (d > 0) out.push(isDown ? "new" : "gone");
    x = fromX;
    y = fromY;
  }
  return out.reverse();
}

/** Lines side by side: what went beside what came in its place. */
export function pairs(lines: Line[]): { left?: Line; right?: Line }[] {
  const out: { left?: Line; right?: Line }[] = [];
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    if (line?.kind === "same") {
      out.push({ left: line, right: line });
      i++;
      continue;
    }
    const gone: Line[] = [];
    const fresh: Line[] = [];
    for (; i < lines.length && lines[i]?.kind !== "same"; i++) {
      const one = lines[i];
      if (one) (one.kind === "gone" ? gone : fresh).push(one);
    }
    for (let n = 0; n < Math.max(gone.length, fresh.length); n++) {
      const [left, right] = [gone[n], fresh[n]];
      out.push({ ...(left && { left }), ...(right && { right }) });
    }
  }
  return out;
}

/** The differences with some lines around them; numbers say how many were left out. */
export function hunks(lines: Line[], around = 3): (Line[] | number)[] {
  const near = new Uint8Array(lines.length);
  lines.forEach(({ kind }, i) => {
    if (kind !== "same") near.fill(1, Math.max(0, i - around), i + around + 1);
  });
  const out: (Line[] | number)[] = [];
  lines.forEach((line, i) => {
    const last = out.at(-1);
    if (near[i]) {
      if (Array.isArray(last)) last.push(line);
      else out.push([line]);
    } else if (typeof last === "number") out[out.length - 1] = last + 1;
    else out.push(1);
  });
  return out;
}

/** So many lines of them, those left out not counted, and whether there are more. */
export function cutTo(parts: (Line[] | number)[], most: number) {
  const out: (Line[] | number)[] = [];
  let room = most;
  for (const part of parts) {
    if (room === 0) return { parts: out, isCut: true };
    const some = Array.isArray(part) ? part.slice(0, room) : part;
    out.push(some);
    if (!Array.isArray(part) || !Array.isArray(some)) continue;
    if (some.length < part.length) return { parts: out, isCut: true };
    room -= some.length;
  }
  return { parts: out, isCut: false };
}
