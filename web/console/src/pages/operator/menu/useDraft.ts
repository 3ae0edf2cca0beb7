import { useRef, useState } from "react";
import { useSession } from "../../../identity/session";
import { useAsked, useDoing } from "../../../shell/asked";
import { messageOf } from "../../../shell/format";
import { ask } from "../api";
import type { Draft, Part } from "./draft";

const path = "/operator/ussd/menu/draft";
const document_ = "/operator/documents/menu";
const keptAs = "castalia-menu-draft-on";

/** The menu that callers get now. */
export interface Live {
  text: string;
  /** The newest stored version, which a new one follows. */
  newest: number;
  source: string;
  where?: string;
  readOnly: boolean;
  version?: number;
  author?: string;
  problem?: string;
  fileVariable?: string;
}

interface Edited {
  parts: Part[];
  text: string;
}

/** How long the page waits for more to be typed before it asks the server, and after it could not. */
const pause = 300;
const retryAfter = 3000;

/** What was typed here before the page was left, and on which version it was begun. */
function kept(): { text: string; base: number } | undefined {
  try {
    return JSON.parse(localStorage.getItem(keptAs) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

/** A draft of the menus: what is edited, what the server says of it, and what is live. */
export function useDraft() {
  const session = useSession();
  const live = useAsked<{ live: Live; form: Draft; begun: Draft; base: number; isKept: boolean }>({
    queryKey: ["menu", "live"],
    queryFn: async () => {
      const now = await ask<Live>(session, document_);
      const read = (text: string) => ask<Draft>(session, path, "POST", { text });
      const form = await ask<Draft>(session, path, "POST", { text: now.text, format: true }).catch(
        () => read(now.text),
      );
      const before = kept();
      if (!before || before.text === form.text || before.text === now.text) {
        return { live: now, form, begun: form, base: now.newest, isKept: false };
      }
      return { live: now, form, begun: await read(before.text), base: before.base, isKept: true };
    },
    staleTime: Infinity,
    gcTime: 0, // who comes back begins with what was kept then, not with what was kept before
    refetchOnWindowFocus: false,
  });
  const [edited, setDraft] = useState<Draft>();
  const draft = edited ?? live.data?.begun;
  // The version that the draft was begun on: what others have published since is not written over unseen.
  const [begunOn, setBegunOn] = useState<number>();
  const base = begunOn ?? live.data?.base ?? 0;
  const [past, setPast] = useState<Edited[]>([]);
  const [isWaiting, setWaiting] = useState(false);
  const [failed, setFailed] = useState("");
  const turn = useRef(0);
  const timer = useRef(0);
  const doing = useDoing(["menu"]);

  function look(body: { text?: string; parts?: Part[] }, wait: number) {
    const mine = ++turn.current;
    setWaiting(true);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      ask<Draft>(session, path, "POST", body)
        .then((answer) => {
          if (mine !== turn.current) return; // something was typed since
          setDraft((now) => {
            // What is on the page stays the same things, or a field would lose its place.
            const parts = body.parts
              ? body.parts.map((part, i) => ({ ...part, line: answer.parts[i]?.line ?? part.line }))
              : answer.parts;
            return { ...now, ...answer, plain: answer.plain ?? "", parts };
          });
          localStorage.setItem(keptAs, JSON.stringify({ text: answer.text, base }));
          setFailed("");
          setWaiting(false);
        })
        .catch((cause: unknown) => {
          if (mine !== turn.current) return;
          // What was typed is not checked, so it is not published; it is asked for again.
          setFailed(messageOf(cause));
          look(body, retryAfter);
        });
    }, wait);
  }

  const form = live.data?.form;
  /** One step back is what was typed without a pause. */
  function remember() {
    if (!draft || isWaiting) return;
    setBegunOn(base);
    setPast((all) => [...all.slice(-99), { parts: draft.parts, text: draft.text }]);
  }
  function setParts(parts: Part[]) {
    if (!draft) return;
    remember();
    setDraft({ ...draft, parts });
    look({ parts }, pause);
  }
  function setText(text: string) {
    if (!draft) return;
    remember();
    setDraft({ ...draft, text });
    if (text.trim() !== "") return look({ text }, pause);
    // Nothing to check, and nothing to publish: an answer to what was there before is not for this.
    turn.current++;
    clearTimeout(timer.current);
    setWaiting(true);
  }
  function undo() {
    const last = past.at(-1);
    if (!last || !draft) return;
    setPast(past.slice(0, -1));
    setDraft({ ...draft, ...last });
    look(last.parts.length > 0 ? { parts: last.parts } : { text: last.text }, 0);
  }
  function discard() {
    localStorage.removeItem(keptAs);
    turn.current++;
    clearTimeout(timer.current);
    setWaiting(false);
    setFailed("");
    setPast([]);
    setDraft(form);
    setBegunOn(live.data?.live.newest);
  }
  function publish(note: string, then: () => void) {
    doing.run(async () => {
      if (!draft || !live.data) return;
      await ask(
        session,
        document_,
        "PUT",
        { text: draft.text, note },
        {
          "If-Match": `"${base}"`,
        },
      );
      await begin();
      then();
    });
  }
  function restore(version: number) {
    doing.run(async () => {
      if (!live.data) return;
      await ask(
        session,
        `${document_}/versions/${version}/restore`,
        "POST",
        {},
        {
          "If-Match": `"${live.data.live.newest}"`,
        },
      );
      await begin();
    });
  }
  /** What is live is another menu now: the draft begins there, once it is read. */
  async function begin() {
    localStorage.removeItem(keptAs);
    turn.current++;
    clearTimeout(timer.current);
    await live.again();
    setPast([]);
    setDraft(undefined);
    setBegunOn(undefined);
    setWaiting(false);
  }
  const isChanged =
    draft !== undefined && draft.text !== form?.text && draft.text !== live.data?.live.text;
  return {
    live: live.data?.live,
    form,
    draft,
    error: live.error || failed,
    isWaiting,
    isChanged,
    isKept: live.data?.isKept === true && edited === undefined,
    canUndo: past.length > 0,
    /** Others have published since the draft was begun. */
    isBehind: isChanged && live.data !== undefined && live.data.live.newest !== base,
    /** What others published was looked at: the draft is to follow it. */
    follow: () => setBegunOn(live.data?.live.newest),
    setParts,
    setText,
    undo,
    discard,
    publish,
    restore,
    doing,
  };
}

export type DraftWork = ReturnType<typeof useDraft>;
