import type { IAttachment } from "@castalia/oracles-client";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import type { ComposerProps } from "./Composer";
import { useLabels } from "./labels";

/**
 * What is being written, and how it goes out: once, with every file that it showed, and in the
 * conversation in which it was written. What is sent while files are on their way waits for them;
 * it goes out behind them also when its conversation is left meanwhile. What could not be sent is
 * given back where it was written.
 */
export function useSending(props: ComposerProps) {
  const { chat, attachments } = props;
  const labels = useLabels();
  /** The conversation, by what is the same only in it. */
  const place: unknown = chat.keepDraft ?? chat.sendMessage;
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<Error>();
  const [wait, setWait] = useState<{ place: unknown; keys: string[] }>();
  /** A message that the chat has not taken yet. */
  const [handed, setHanded] = useState<{ place: unknown }>();
  const files = attachments?.list ?? [];
  const keys = files.map((file) => file.key);
  const isReady = text.trim() !== "" || files.length > 0;
  const isWaiting = wait !== undefined && wait.place === place;
  const isHanded = handed?.place === place;
  const isStoring = attachments?.isStoring ?? false;
  // From here on the chat tells how far it is.
  if (isHanded && chat.isSending) setHanded(undefined);

  /** Where the page is now; nowhere when it has left. */
  const here = useRef<unknown>(undefined);
  function giveBack(taken: IAttachment[], cause: unknown) {
    if (chat.keepDraft && here.current !== place) {
      const error = cause instanceof Error ? { error: cause } : {};
      chat.keepDraft({ text, attachments: taken, ...error });
      return;
    }
    // What is wrong is told by the chat, or by the attachments.
    setText((since) => both(text, since));
    if (taken.length > 0) attachments?.giveBack(taken);
  }
  async function hand(said: string): Promise<void> {
    const mine = { place };
    setHanded(mine);
    let taken: IAttachment[] = [];
    try {
      if (props.onSend) {
        if (!(await props.onSend(said))) giveBack([], undefined);
      } else {
        taken = (await attachments?.take()) ?? [];
        await chat.sendMessage(said, undefined, taken.length > 0 ? taken : undefined);
      }
    } catch (cause) {
      giveBack(taken, cause);
    }
    setHanded((now) => (now === mine ? undefined : now));
  }
  function sendNow() {
    if (!isReady) return;
    setWait(undefined);
    setProblem(undefined);
    setText("");
    void hand(text.trim() || labels.whatIsIn(files.map((a) => a.filename).join(", ")));
  }

  const isWhole = isWaiting && wait.keys.every((key) => keys.includes(key));
  // One that was attached meanwhile belongs to it as well.
  if (isWhole && wait.keys.length < keys.length) setWait({ place, keys });
  const latest = useRef<{ isWaiting: boolean; sendNow: () => void }>(undefined);
  useEffect(() => {
    if (!isWaiting || (isWhole && (isStoring || chat.isSending))) return;
    // The files are an outside thing: they are stored, or not, from here on.
    // eslint-disable-next-line react-hooks/set-state-in-effect
    setWait(undefined);
    if (isWhole) latest.current?.sendNow();
  }, [isWaiting, isWhole, isStoring, chat.isSending]);

  // Who leaves has sent what waits. Uploads of the page end in effects that come after this.
  useLayoutEffect(() => {
    here.current = place;
    return () => {
      here.current = undefined;
      if (latest.current?.isWaiting) latest.current.sendNow();
    };
  }, [place]);
  // After the one above, whose end means the conversation of before.
  useLayoutEffect(() => {
    latest.current = { isWaiting, sendNow };
  });

  const { draft, keepDraft } = chat;
  const seen = useRef<typeof draft>(undefined);
  useEffect(() => {
    if (!draft || isWaiting || seen.current === draft) return;
    seen.current = draft;
    // It was kept outside, for whoever writes here.

    setText((since) => both(draft.text, since));
    setProblem(draft.error);
    if (draft.attachments?.length) attachments?.giveBack(draft.attachments);
    keepDraft?.(undefined);
  }, [draft, keepDraft, isWaiting, attachments]);

  return {
    text,
    setText,
    /** Why what was given back was not sent. */
    problem,
    isWaiting,
    /** Whether there is something that can be sent now. */
    canSend: isReady && !chat.isSending && !isWaiting && !isHanded,
    /** Sends, or waits for the files; tells whether it waits. */
    send: (): boolean => {
      if (isStoring) setWait({ place, keys });
      else sendNow();
      return isStoring;
    },
    keepBack: () => setWait(undefined),
  };
}

/** What was not sent, before what was written since. */
function both(first: string, second: string): string {
  return [first, second].filter(Boolean).join("\n\n");
}
