import type { IChatResult } from "@castalia/oracles-client";
import type { UseAttachmentsResult } from "@castalia/oracles-client/attachments";
import {
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  type ClipboardEvent,
  type FormEvent,
  type KeyboardEvent,
} from "react";
import { messageOf, useLabels } from "./labels";
import { FileName } from "./parts/Attached";
import { IconButton } from "./parts/Button";
import { entryMark } from "./parts/entry";
import { Hidden } from "./parts/Hidden";
import { Passing } from "./parts/Passing";
import { useSending } from "./useSending";

export interface ComposerProps {
  /** What `useChat` gives. Without drafts, what cannot be sent after its conversation was left is lost. */
  chat: Pick<IChatResult, "isSending" | "sendMessage" | "abortStream"> &
    Partial<Pick<IChatResult, "draft" | "keepDraft">>;
  /** What `useAttachments` gives; without, no files are attached. */
  attachments?: UseAttachmentsResult | undefined;
  /** Sends instead of `chat`, and tells whether it was sent: what was not is given back. */
  onSend?: (text: string) => Promise<boolean>;
  /** Attaches instead of the device's own chooser, which `fromDevice` opens. */
  onAttach?: (fromDevice: () => void) => void;
  /** The reader came here to write. */
  isOpened?: boolean;
  /** The id of the field. */
  entryId?: string;
}

/** Where messages are written and files are attached. Enter sends, Shift and Enter is a line. */
export function Composer(props: ComposerProps) {
  const { chat, attachments, isOpened = false } = props;
  const isBusy = chat.isSending;
  const labels = useLabels();
  const ownId = useId();
  const id = props.entryId ?? ownId;
  const { text, setText, problem, isWaiting, canSend, ...sending } = useSending(props);
  const picker = useRef<HTMLInputElement>(null);
  const entry = useRef<HTMLTextAreaElement>(null);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    // Where a finger points, the focus would bring up a keyboard over half of the page.
    if (isOpened && matchMedia("(pointer: fine)").matches) entry.current?.focus();
  }, [isOpened]);
  useLayoutEffect(() => {
    // What stopped the answer is now a button that cannot be pressed.
    const focused = document.activeElement;
    if (!isBusy && form.current?.contains(focused) && focused?.matches("[data-castalia-go]")) {
      entry.current?.focus();
    }
  }, [isBusy]);
  // Wherever the focus is: who wants it to stop does not look for it first.
  const { abortStream } = chat;
  useEffect(() => {
    if (!isBusy) return;
    const onKey = (event: globalThis.KeyboardEvent) => {
      if (event.key !== "Escape" || event.isComposing) return;
      if (!document.querySelector("dialog[open]")) void abortStream().catch(() => undefined);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [isBusy, abortStream]);
  function send(event?: FormEvent) {
    event?.preventDefault();
    // The button cannot be pressed any more.
    if (canSend && sending.send()) entry.current?.focus();
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key === "Escape" && isWaiting) {
      // It stops nothing else.
      event.stopPropagation();
      sending.keepBack();
    }
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      send();
    }
  }
  function paste(event: ClipboardEvent) {
    if (!attachments || event.clipboardData.files.length === 0) return;
    event.preventDefault();
    attachments.upload(event.clipboardData.files);
  }
  function keepBack() {
    sending.keepBack();
    entry.current?.focus();
  }
  const choose = () => picker.current?.click();
  return (
    <form ref={form} className="castalia-composer" onSubmit={send}>
      {problem && <Bad error={problem} />}
      {attachments && <Attached attachments={attachments} />}
      {attachments && (
        <div className={isWaiting ? "castalia-row castalia-soft castalia-later" : undefined}>
          <span role="status">{isWaiting && labels.sendingLater}</span>
          {isWaiting && <Passing onClick={keepBack}>{labels.doNotSend}</Passing>}
        </div>
      )}
      <div className="castalia-composer-row">
        {attachments && (
          <IconButton
            icon="clip"
            label={labels.attach}
            onClick={() => (props.onAttach ? props.onAttach(choose) : choose())}
          />
        )}
        <label htmlFor={id}>
          <Hidden>{labels.entry}</Hidden>
        </label>
        <textarea
          ref={entry}
          id={id}
          {...entryMark}
          dir={text ? "auto" : undefined}
          rows={1}
          value={text}
          readOnly={isWaiting}
          placeholder={labels.placeholder}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={paste}
        />
        {isBusy ? (
          <IconButton
            data-castalia-go=""
            className="castalia-stop"
            look="round"
            icon="stop"
            label={labels.stop}
            title={labels.stopKey}
            onClick={() => void abortStream().catch(() => undefined)}
          />
        ) : (
          <IconButton
            data-castalia-go=""
            look="primary round"
            type="submit"
            icon="send"
            label={labels.send}
            title={labels.sendKey}
            disabled={!canSend}
          />
        )}
      </div>
      {attachments && (
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label={labels.filesToAttach}
          onChange={(event) => {
            attachments.upload(event.target.files ?? []);
            event.target.value = "";
          }}
        />
      )}
    </form>
  );
}

function Bad({ error }: { error: Error }) {
  return (
    <p role="alert" className="castalia-bad">
      {messageOf(error, useLabels())}
    </p>
  );
}

function Attached({ attachments }: { attachments: UseAttachmentsResult }) {
  const labels = useLabels();
  const { list, error, remove } = attachments;
  return (
    <>
      {error && <Bad error={error} />}
      {list.length > 0 && (
        <ul className="castalia-chips" aria-label={labels.attachments}>
          {list.map((file) => (
            <li key={file.key} className="castalia-chip">
              <FileName file={file} />
              <span className="castalia-soft castalia-size">
                {file.progress === undefined
                  ? labels.size(file.size ?? 0)
                  : `${Math.round(file.progress * 100)} %`}
              </span>
              <IconButton
                icon="close"
                label={labels.doNotAttach(file.filename)}
                onClick={() => remove(file.key)}
              />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
