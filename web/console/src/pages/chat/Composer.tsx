import type { UseAttachmentsResult } from "@castalia/oracles-client/attachments";
import {
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  type ClipboardEvent,
  type FormEvent,
  type KeyboardEvent,
} from "react";
import { bytes, messageOf } from "../../shell/format";
import { Icon } from "../../shell/icons";
import { FilePicker } from "./FilePicker";

/** Where messages are written and files are attached. */
export function Composer(props: {
  busy: boolean;
  attachments: UseAttachmentsResult;
  /** Tells whether it was sent. */
  onSend: (text: string) => Promise<boolean>;
  onStop: () => void;
  /** The reader came here to write. */
  isOpened: boolean;
}) {
  const { attachments, busy, isOpened } = props;
  const [text, setText] = useState("");
  const [picking, setPicking] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const entry = useRef<HTMLTextAreaElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    // Where a finger points, the focus would bring up a keyboard over half of the page.
    if (isOpened && matchMedia("(pointer: fine)").matches) entry.current?.focus();
  }, [isOpened]);
  useLayoutEffect(() => {
    // What stopped the answer is now a button that cannot be pressed.
    if (!busy && document.activeElement === button.current) entry.current?.focus();
  }, [busy]);
  const ready = !attachments.isStoring && (text.trim() !== "" || attachments.list.length > 0);

  function send(event?: FormEvent) {
    event?.preventDefault();
    if (!ready || busy) return;
    const names = attachments.list.map((a) => a.filename).join(", ");
    setText("");
    void props.onSend(text.trim() || `What is in ${names}?`).then((isSent) => {
      // What was not sent is given back, before what was written since.
      if (!isSent) setText((since) => [text, since].filter(Boolean).join("\n\n"));
    });
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      send();
    }
  }
  function paste(event: ClipboardEvent) {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    attachments.upload(event.clipboardData.files);
  }
  return (
    <form className="composer" onSubmit={send}>
      {attachments.error && (
        <p role="alert" className="bad small">
          {messageOf(attachments.error)}
        </p>
      )}
      {attachments.list.length > 0 && (
        <ul className="chips" aria-label="Attached files">
          {attachments.list.map((a) => (
            <li key={a.key} className="chip">
              <Icon name={a.mimetype.startsWith("image/") ? "image" : "file"} />
              <span className="chip-name">{a.filename}</span>
              <span className="soft small nowrap-text">
                {a.progress === undefined
                  ? bytes(a.size ?? 0)
                  : `${Math.round(a.progress * 100)} %`}
              </span>
              <button
                type="button"
                className="quiet"
                aria-label={`Do not attach ${a.filename}`}
                onClick={() => attachments.remove(a.key)}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="composer-row">
        <button
          type="button"
          className="quiet"
          aria-label="Attach files"
          title="Attach files"
          onClick={() => setPicking(true)}
        >
          <Icon name="clip" />
        </button>
        <label className="visually-hidden" htmlFor="message">
          Your message
        </label>
        <textarea
          ref={entry}
          id="message"
          data-entry
          rows={1}
          value={text}
          placeholder="Ask anything"
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={paste}
        />
        {busy ? (
          <button
            ref={button}
            type="button"
            className="round stop"
            onClick={props.onStop}
            aria-label="Stop the answer"
            title="Stop the answer (Esc)"
          >
            <Icon name="stop" />
          </button>
        ) : (
          <button
            ref={button}
            className="primary round"
            type="submit"
            aria-label="Send"
            title="Send (Enter)"
            disabled={!ready}
          >
            <Icon name="send" />
          </button>
        )}
      </div>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label="Files to attach"
        onChange={(event) => {
          attachments.upload(event.target.files ?? []);
          event.target.value = "";
        }}
      />
      {picking && (
        <FilePicker
          onClose={() => setPicking(false)}
          onUpload={() => picker.current?.click()}
          onPick={(file) => attachments.add(file)}
        />
      )}
    </form>
  );
}
