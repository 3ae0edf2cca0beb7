import { forgetUpload, uploadFile } from "@castalia/oracles-client/attachments";
import { useCallback, useRef, useState } from "react";
import { messageOf } from "../../shell/format";
import type { Files } from "./api";
import type { Dropped } from "./dropped";
import { isTaken, untilFree, type Ask, type Policy } from "./transfer";

/** A file on its way. */
export interface Upload {
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
}

interface Job {
  target: string;
  file: File;
  policy?: Policy;
}

/** At most so many at once: enough to fill the line, not to crowd it. */
const lines = 3;

/** The list is read again after so long, and when the last file is stored. */
const pause = 1000;

const begin: Progress = { files: 0, finished: 0 };

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
  const outcome = useRef<Outcome>({ stored: 0, skipped: 0 });
  const sending = useRef(new Set<() => void>());

  const add = useCallback(
    (chosen: Dropped[], folder: string) => {
      const without = (path: string) => (all: Upload[]) => all.filter((u) => u.path !== path);
      const finish = () => setProgress((p) => ({ ...p, finished: p.finished + 1 }));

      async function one(job: Job) {
        const { target, file, policy } = job;
        const control = new AbortController();
        const { signal } = control;
        const show = (change: Partial<Upload>) =>
          setUploads((all) => all.map((u) => (u.path === target ? { ...u, ...change } : u)));
        const stop = () => {
          if (signal.aborted) return;
          control.abort();
          sending.current.delete(stop);
          setUploads(without(target));
          void forgetUpload(files, target, file);
        };
        const again = () => {
          setUploads(without(target));
          enter([job]);
        };
        sending.current.add(stop);
        setUploads((all) => [...without(target)(all), { path: target, share: 0, again, stop }]);
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
          setUploads(without(target));
          finish();
        } catch (cause) {
          if (signal.aborted) finish();
          else if (asking && !policy && isTaken(cause)) {
            met.current.push(job);
            setUploads(without(target));
          } else {
            show({ error: messageOf(cause) });
            finish();
          }
        } finally {
          if (!signal.aborted) sending.current.delete(stop);
        }
      }
      async function work() {
        for (let next = queue.current.shift(); next; next = queue.current.shift()) {
          setWaiting(queue.current.length);
          await one(next);
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
        outcome.current = { stored: 0, skipped: 0 };
      }
      function start(jobs: Job[]) {
        queue.current.push(...jobs);
        setWaiting(queue.current.length);
        while (busy.current < lines && queue.current.length > 0) {
          busy.current++;
          void work();
        }
      }
      function enter(jobs: Job[]) {
        setProgress((p) => ({ ...p, files: p.files + jobs.length }));
        start(jobs);
      }
      const base = folder === "/" ? "" : folder;
      enter(chosen.map(({ path, file }) => ({ target: `${base}/${path}`, file })));
    },
    [files, onStored, asking],
  );
  const stopAll = useCallback(() => {
    queue.current = [];
    setWaiting(0);
    for (const stop of [...sending.current]) stop();
  }, []);
  return { uploads, waiting, progress, add, stopAll };
}
