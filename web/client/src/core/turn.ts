import type { OracleApi, RequestOptions } from "./api";
import { RequestError } from "./errors";
import { readEvents } from "./sse";

/** One frame of a turn. */
export interface Frame {
  event: string;
  data: Record<string, unknown>;
}

export interface TurnHandlers {
  /** The turn was accepted: its ids are known. */
  accepted(ids: { requestId: string; runId: string | undefined }): void;
  frame(frame: Frame): void;
}

/** How following a turn ended. */
export type TurnEnd = "done" | "aborted" | "disconnected";

const maxAttempts = 12;

function delay(attempt: number, atLeast: number, signal: AbortSignal): Promise<void> {
  const backOff = Math.min(500 * 2 ** attempt, 8000) * (0.75 + Math.random() / 2);
  const wait = Math.max(backOff, Math.min(atLeast, 60_000));
  return new Promise((resolve) => {
    const timer = setTimeout(finish, wait);
    signal.addEventListener("abort", finish, { once: true });
    function finish() {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    }
  });
}

/**
 * Follows the log of a run to its end. A dropped line is resumed where it
 * broke; what was seen is never told twice.
 */
async function follow(
  api: OracleApi,
  first: Response | undefined,
  start: { runId: string | undefined; after: number },
  handlers: TurnHandlers,
  signal: AbortSignal,
): Promise<TurnEnd> {
  let { runId, after } = start;
  let response = first;
  let numbered = true;
  let wait = 0;
  for (let attempt = 0; ; attempt++) {
    if (response?.body) {
      try {
        // An oracle that keeps runs is never silent for long.
        for await (const event of readEvents(response.body, runId !== undefined)) {
          const seq = Number(event.id);
          if (event.id !== "" && Number.isFinite(seq)) {
            if (seq <= after) continue;
            after = seq;
          } else {
            numbered = false;
          }
          const data = parse(event.data);
          if (!data) continue;
          attempt = 0;
          if (event.event === "run" && typeof data["runId"] === "string") runId = data["runId"];
          handlers.frame({ event: event.event, data });
          if (event.event === "done") return "done";
        }
      } catch (cause) {
        if (signal.aborted) return "aborted";
        // The line broke. A handler's own error is not a broken line.
        if (cause instanceof HandlerError) throw cause.cause;
      }
    }
    if (signal.aborted) return "aborted";
    // A log without numbers cannot be joined in the middle.
    if (!runId || !numbered || attempt >= maxAttempts) return "disconnected";
    if (response || attempt > 0) await delay(attempt, wait, signal);
    if (signal.aborted) return "aborted";
    response = undefined;
    wait = 0;
    try {
      response = await api.send(`/runs/${encodeURIComponent(runId)}?after=${after}`, { signal });
    } catch (cause) {
      if (signal.aborted) return "aborted";
      if (cause instanceof RequestError) {
        if (isFinal(cause.status)) return "disconnected";
        wait = (cause.retryAfter ?? 0) * 1000;
      }
    }
  }
}

/** Whether asking again cannot help: the run is unknown, pruned or another's. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

class HandlerError extends Error {}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === "object"
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Tells an error of the page's own from a broken line. */
function guarded(handlers: TurnHandlers): TurnHandlers {
  return {
    accepted: (ids) => handlers.accepted(ids),
    frame: (frame) => {
      try {
        handlers.frame(frame);
      } catch (cause) {
        throw new HandlerError("handler failed", { cause });
      }
    },
  };
}

/** How often the oracle is asked whether it has a message whose answer was lost, and how long each time. */
const lookUps = 3;
const lookUpPatience = 10_000;

/** How long the answer to a message may take to begin. Oracles that keep runs begin it at once. */
const patience = 60_000;

/** Whether a message may have been taken although it failed: the line or a gateway broke. */
function isLost(cause: unknown): boolean {
  return cause instanceof RequestError
    ? cause.status === 502 || cause.status === 504
    : cause instanceof TypeError; // what fetch says of a line
}

/** Does something that ends with the signal, and by itself after so many milliseconds. */
async function within<T>(
  time: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const control = new AbortController();
  const end = () => control.abort();
  const timer = setTimeout(end, time);
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  try {
    return await work(control.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}

/** The run of a message whose answer was lost, if the oracle has it; null if it keeps no runs. */
async function find(
  api: OracleApi,
  sessionId: string,
  requestId: string,
  signal: AbortSignal,
): Promise<string | undefined | null> {
  const path = `/sessions/${encodeURIComponent(sessionId)}/run?requestId=${requestId}`;
  for (let attempt = 0; attempt < lookUps && !signal.aborted; attempt++) {
    if (attempt > 0) await delay(attempt - 1, 0, signal);
    try {
      const { run } = await within(lookUpPatience, signal, (signal) =>
        api.json<{ run: { runId: string; requestId?: string } | null }>(path, { signal }),
      );
      return run?.requestId === requestId ? run.runId : undefined;
    } catch (cause) {
      if (cause instanceof RequestError && isFinal(cause.status)) return null;
    }
  }
  return undefined;
}

/**
 * Posts what begins a turn. When the answer does not begin for a minute, the oracle is asked whether it has the
 * message: its run is then followed by another line. Of an oracle that keeps no runs the answer is waited for.
 */
async function post(
  api: OracleApi,
  path: string,
  options: RequestOptions & { signal: AbortSignal },
  look: () => ReturnType<typeof find>,
): Promise<Response | string> {
  const { signal } = options;
  const line = new AbortController();
  const end = () => line.abort();
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  let timer: ReturnType<typeof setTimeout> | undefined;
  // A refused token is an answer as well: who signs the next one is not timed.
  const stop = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  options.onAnswered = stop;
  const silent = new Promise<string>((join, fail) => {
    options.onSent = () => {
      const current = (timer = setTimeout(() => {
        void look().then((runId) => {
          if (runId === null || timer !== current) return;
          if (runId) join(runId);
          else fail(new RequestError(408, "The oracle did not take the message in time"));
          end();
        });
      }, patience));
    };
  });
  try {
    return await Promise.race([api.send(path, { ...options, signal: line.signal }), silent]);
  } finally {
    stop();
  }
}

/**
 * Posts what begins a turn and follows it. It is posted exactly once,
 * under an id of the page's own: when the answer is lost, the oracle is asked
 * whether it has the message before that is called a failure.
 */
export async function sendTurn(
  api: OracleApi,
  sessionId: string,
  path: string,
  requestId: string,
  body: Record<string, unknown>,
  handlers: TurnHandlers,
  signal: AbortSignal,
): Promise<TurnEnd> {
  const safe = guarded(handlers);
  const look = () => find(api, sessionId, requestId, signal);
  let response: Response | undefined;
  let runId: string | undefined;
  try {
    const posted = await post(
      api,
      path,
      {
        method: "POST",
        headers: { "X-Request-Id": requestId },
        body: { ...body, stream: true },
        signal,
      },
      look,
    );
    if (typeof posted === "string") runId = posted;
    else {
      response = posted;
      runId = response.headers.get("X-Run-Id") ?? undefined;
    }
  } catch (cause) {
    if (!signal.aborted && isLost(cause)) runId = (await look()) ?? undefined;
    if (signal.aborted) return "aborted";
    if (!runId) throw cause;
  }
  handlers.accepted({ requestId: response?.headers.get("X-Request-Id") ?? requestId, runId });
  return follow(api, response, { runId, after: 0 }, safe, signal);
}

/** Follows a turn that is under way, from its beginning. */
export function resumeTurn(
  api: OracleApi,
  runId: string,
  handlers: TurnHandlers,
  signal: AbortSignal,
): Promise<TurnEnd> {
  const safe = guarded(handlers);
  return follow(api, undefined, { runId, after: 0 }, safe, signal);
}
