import { messageOf } from "../../shell/format";
import { say } from "../../words";
import { FilesError, type Files, type TreeNode } from "./api";
import { each, trashedBy, type Ended } from "./transfer";

/** "report.txt", "3 entries". */
export function said(nodes: readonly TreeNode[]): string {
  return nodes.length === 1 ? (nodes[0]?.name ?? "") : say("files.entries", { n: nodes.length });
}

/** What of many was not done, and what nobody knows; empty when all was done. */
export function troubles(act: "move" | "copy" | "trash", ended: Ended): string {
  const { failed, unsure, left, cause } = ended;
  const why = messageOf(cause).replace(/\.$/, "");
  const out: string[] = [];
  if (failed.length > 0) out.push(say("files.notDone", { what: said(failed), act, why }));
  if (unsure.length > 0) out.push(say("files.noAnswer", { what: said(unsure), act }));
  if (left.length > 0) out.push(say("files.stayed", { what: said(left) }));
  return out.join(" ");
}

/** What went to the trash. Its undo brings back what went, and can be tried again when it fails. */
export interface Trashed extends Ended {
  gone: TreeNode[];
  undo: () => Promise<void>;
}

export async function trashAll(files: Files, nodes: readonly TreeNode[]): Promise<Trashed> {
  const plain = nodes.filter((n) => n.type === "file");
  const { done, failed } = await files.removeSome(plain.flatMap((n) => n.id ?? []));
  const ids = new Set(done);
  const gone = plain.filter((n) => n.id && ids.has(n.id));
  const stayed = plain.filter((n) => !n.id || !ids.has(n.id));
  const folders = nodes.filter((n) => n.type === "folder");
  const went: { path: string; when: string | undefined }[] = [];
  const isAway = failed && !(failed instanceof FilesError);
  const rest = isAway
    ? { failed: [], unsure: [], left: folders }
    : await each(folders, async (node) => {
        const when = await trashedBy(files, node.path, () => files.removeFolder(node.path));
        went.push({ path: node.path, when });
        gone.push(node);
      });
  const cause = failed ?? rest.cause;
  return {
    gone,
    failed: isAway ? rest.failed : [...stayed, ...rest.failed],
    unsure: isAway ? stayed : rest.unsure,
    left: rest.left,
    ...(cause === undefined ? {} : { cause }),
    undo: async () => {
      await files.restore(done);
      done.length = 0;
      for (let last = went.at(-1); last; last = went.at(-1)) {
        await files.restoreAt(last.path, last.when);
        went.pop();
      }
    },
  };
}
