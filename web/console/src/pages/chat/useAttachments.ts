import type { IAttachment } from "@castalia/oracles-client";
import { useMemo, useState } from "react";
import { useSession } from "../../identity/session";
import { messageOf } from "../../shell/format";
import { Files, type FileRecord } from "../files/api";
import { uploadFile } from "../files/upload";

/** The oracle takes no more with one message. */
const most = 10;

/** Where files go that are attached without being kept before. */
const folder = "/Attachments";

export interface Attached extends IAttachment {
  key: string;
  /** Defined while it is being stored, from 0 to 1. */
  progress?: number | undefined;
}

/** Files for the next message: from the user's store, or put there first. */
export function useAttachments() {
  const session = useSession();
  const files = useMemo(() => new Files(session), [session]);
  const [list, setList] = useState<Attached[]>([]);
  const [error, setError] = useState("");

  function add(file: FileRecord) {
    setError("");
    setList((all) =>
      all.length >= most || all.some((a) => a.cid === file.cid)
        ? all
        : [...all, { key: file.cid, ...describe(file) }],
    );
  }
  async function uploadOne(file: File) {
    const key = `${file.name} ${file.size} ${file.lastModified}`;
    const change = (progress: number) =>
      setList((all) => all.map((a) => (a.key === key ? { ...a, progress } : a)));
    setList((all) => [
      ...all.filter((a) => a.key !== key),
      { key, filename: file.name, mimetype: file.type || "text/plain", progress: 0 },
    ]);
    try {
      const stored = await uploadFile(files, `${folder}/${file.name}`, file, {
        onProgress: change,
      });
      setList((all) => all.map((a) => (a.key === key ? { key, ...describe(stored) } : a)));
    } catch (cause) {
      setError(`${file.name}: ${messageOf(cause)}`);
      setList((all) => all.filter((a) => a.key !== key));
    }
  }
  return {
    list,
    error,
    add,
    /** Puts back what was taken for a message that was not sent. */
    giveBack: (taken: IAttachment[]) =>
      setList((all) => {
        const known = new Set(all.map((a) => a.key));
        const lost = taken.map((a) => ({ key: a.cid ?? a.filename, ...a }));
        return [...lost.filter((a) => !known.has(a.key)), ...all].slice(0, most);
      }),
    remove: (key: string) => setList((all) => all.filter((a) => a.key !== key)),
    upload: (chosen: Iterable<File>) => {
      setError("");
      for (const file of [...chosen].slice(0, most - list.length)) void uploadOne(file);
    },
    /** Empties the list into a message. */
    take: (): IAttachment[] => {
      const ready = list.filter((a) => a.progress === undefined);
      setList([]);
      return ready.map(({ filename, mimetype, size, cid }) => ({
        filename,
        mimetype,
        ...(size === undefined ? {} : { size }),
        ...(cid === undefined ? {} : { cid }),
      }));
    },
  };
}

export type Attachments = ReturnType<typeof useAttachments>;

function describe(file: FileRecord): IAttachment {
  return { filename: file.name, mimetype: file.mimeType, size: file.size, cid: file.cid };
}
