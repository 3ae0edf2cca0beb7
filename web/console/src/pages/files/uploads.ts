import { forgetUpload, uploadFile } from "@castalia/oracles-client/attachments";
import { useCallback, useRef, useState } from "react";
import { messageOf } from "../../shell/format";
import type { Files } from "./api";
import type { Dropped } from "./dropped";

/** A file on its way. */
export interface Upload {
  path: string;
  share: number;
  error?: string;
  again: () => void;
  stop: () => void;
}

/** At most so many at once: enough to fill the line, not to crowd it. */
const lines = 3;

/** The list is read again after so long, and when the last file is stored. */
const pause = 1000;

/** Files on their way into the store, and how many wait for their turn. */
export function useUploads(files: Files, onStored: () => void) {
  const [uploads, setUploads] = useState<Upload[]>([]);
  const [waiting, setWaiting] = useState(0);
  const queue = useRef<{ target: string; file: File }[]>([]);
  const busy = useRef(0);
  const told = useRef(0);

  const add = useCallback(
    (chosen: Dropped[], folder: string) => {
      const without = (path: string) => (all: Upload[]) => all.filter((u) => u.path !== path);
      async function one({ target, file }: { target: string; file: File }) {
        const control = new AbortController();
        const show = (change: Partial<Upload>) =>
          setUploads((all) => all.map((u) => (u.path === target ? { ...u, ...change } : u)));
        const leave = () => {
          control.abort();
          setUploads(without(target));
          void forgetUpload(files, target, file);
        };
        const again = () => enter([{ target, file }]);
        setUploads((all) => [
          ...without(target)(all),
          { path: target, share: 0, again, stop: leave },
        ]);
        try {
          const { signal } = control;
          await uploadFile(files, target, file, { signal, onProgress: (share) => show({ share }) });
          setUploads(without(target));
        } catch (cause) {
          if (!control.signal.aborted) show({ error: messageOf(cause) });
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
        busy.current--;
      }
      function enter(some: { target: string; file: File }[]) {
        queue.current.push(...some);
        setWaiting(queue.current.length);
        while (busy.current < lines && queue.current.length > 0) {
          busy.current++;
          void work();
        }
      }
      const base = folder === "/" ? "" : folder;
      enter(chosen.map(({ path, file }) => ({ target: `${base}/${path}`, file })));
    },
    [files, onStored],
  );
  return { uploads, waiting, add };
}
