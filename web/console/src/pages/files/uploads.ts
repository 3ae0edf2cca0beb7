import { forgetUpload, uploadFile } from "@castalia/oracles-client/attachments";
import { useCallback, useRef, useState } from "react";
import { messageOf } from "../../shell/format";
import type { Files } from "./api";
import type { Dropped } from "./dropped";
import { isTaken, untilFree, type Ask, type Policy } from "./transfer";

/** A file on its way. */
export interface Upload {
  /** Two files may be on their way to one name. */
  id: number;
  path: string;
  share: number;
  error?: string;
  again: () => void;
  stop: () => void;
}

/** All files that were chosen since nothing was on its way. */
export interface Progress {
  files: number;
  finished: number;
}

/** How it went. */
export interface Outcome {
  stored: number;
  skipped: number;
  failed: number;
  stopped: number;
}

interface Job {
  id: number;
  target: string;
  file: File;
  policy?: Policy;
}

/** At most so many at once: enough to fill the line, not to crowd it. */
const lines = 3;

/** The list is read again after so long, and when the last file is stored. */
const pause = 1000;

const begin: Progress = { files: 0, finished: 0 };

const none: Outcome = { stored: 0, skipped: 0, failed: 0, stopped: 0 };

/**
 * Files on their way into the store, and how many wait for their turn. What meets a file of its
 * name waits until the others are stored; then there is one question for all of them. Where nobody
 * can be asked, it becomes a new version.
 */
export function useUploads(
  files: Files,
  onStored: () => void,
  asking?: { ask: Ask; onEnd: (outcome: Outcome) => void },
) {
  const [uploads, setUploads] = useState<Upload[]>([]);
  const [waiting, setWaiting] = useState(0);
  const [progress, setProgress] = useState(begin);
  const queue = useRef<Job[]>([]);
  const met = useRef<Job[]>([]);
  const busy = useRef(0);
  const told = useRef(0);
  const outcome = useRef<Outcome>({ ...none });
  const sending = useRef(new Map<() => void, string>());
  const count = useRef(0);

  const add = useCallback(
    (chosen: Dropped[], folder: string) => {
      const without = (id: number) => (all: Upload[]) => all.filter((u) => u.id !== id);
      const finish = () => setProgress((p) => ({ ...p, finished: p.finished + 1 }));

      async function one(job: Job) {
        const { id, target, file, policy } = job;
        const control = new AbortController();
        const { signal } = control;
        const show = (change: Partial<Upload>) =>
          setUploads((all) => all.map((u) => (u.id === id ? { ...u, ...change } : u)));
        const stop = () => {
          if (signal.aborted) return;
          control.abort();
          sending.current.delete(stop);
          setUploads(without(id));
          void forgetUpload(files, target, file);
        };
        const again = () => {
          setUploads(without(id));
          enter([job]);
        };
        sending.current.set(stop, target);
        setUploads((all) => [...without(id)(all), { id, path: target, share: 0, again, stop }]);
        const overwrite = asking === undefined || policy === "replace";
        const options = { signal, overwrite, onProgress: (share: number) => show({ share }) };
        try {
          if (policy === "both") {
            await untilFree(
              target,
              async (path) => void (await uploadFile(files, path, file, options)),
            );
          } else {
            await uploadFile(files, target, file, options);
          }
          outcome.current.stored++;
          setUploads(without(id));
          finish();
        } catch (cause) {
          if (signal.aborted) {
            outcome.current.stopped++;
            finish();
          } else if (asking && !policy && isTaken(cause)) {
            met.current.push(job);
            setUploads(without(id));
          } else {
            outcome.current.failed++;
            show({ error: messageOf(cause) });
            finish();
          }
        } finally {
          if (!signal.aborted) sending.current.delete(stop);
        }
      }
      /** The next one whose name no other is on its way to: the parts of two would meet. */
      function next(): Job | undefined {
        const taken = new Set(sending.current.values());
        const at = queue.current.findIndex((job) => !taken.has(job.target));
        return at < 0 ? undefined : queue.current.splice(at, 1)[0];
      }
      async function work() {
        for (let job = next(); job; job = next()) {
          setWaiting(queue.current.length);
          await one(job);
          if (queue.current.length > 0 && Date.now() - told.current < pause) continue;
          told.current = Date.now();
          onStored();
        }
        if (--busy.current === 0) await end();
      }
      /** All that met nothing is stored, or failed. */
      async function end() {
        const taken = met.current.splice(0);
        if (asking && taken.length > 0) {
          const policy = await asking.ask(taken.map((job) => job.target.slice(1)));
          if (policy === "replace" || policy === "both") {
            return start(taken.map((job) => ({ ...job, policy })));
          }
          outcome.current.skipped += taken.length;
        }
        if (busy.current > 0) return;
        setProgress(begin);
        asking?.onEnd(outcome.current);
        outcome.current = { ...none };
      }
      function start(jobs: Job[]) {
        queue.current.push(...jobs);
        setWaiting(queue.current.length);
        // Counted beforehand: a line that finds nothing to send ends before the next is begun.
        for (let free = Math.min(lines - busy.current, queue.current.length); free > 0; free--) {
          busy.current++;
          void work();
        }
      }
      function enter(jobs: Job[]) {
        setProgress((p) => ({ ...p, files: p.files + jobs.length }));
        start(jobs);
      }
      const base = folder === "/" ? "" : folder;
      enter(
        chosen.map(({ path, file }) => ({
          id: ++count.current,
          target: `${base}/${path}`.normalize("NFC"),
          file,
        })),
      );
    },
    [files, onStored, asking],
  );
  const stopAll = useCallback(() => {
    // Nobody is asked about what was to be stopped.
    outcome.current.stopped += queue.current.length + met.current.length;
    queue.current = [];
    met.current = [];
    setWaiting(0);
    for (const stop of [...sending.current.keys()]) stop();
  }, []);
  return { uploads, waiting, progress, isBusy: progress.files > 0, add, stopAll };
}
