import type { IChatResult } from "@castalia/oracles-client";
import { useAttachments } from "@castalia/oracles-client/attachments";
import { useState, type FormEvent } from "react";
import type { Place } from "./App";

interface Props extends Place {
  isSending: boolean;
  onSend: IChatResult["sendMessage"];
  onStop: () => void;
}

/** Where a message is written; files are chosen, dropped or pasted. */
export function Composer({ server, wallet, isSending, onSend, onStop }: Props) {
  const [draft, setDraft] = useState("");
  const files = useAttachments({
    oracleDid: wallet.oracleDid,
    overrides: { baseUrl: server },
    fileToken: wallet.fileToken,
  });

  const send = async (event: FormEvent) => {
    event.preventDefault();
    setDraft("");
    const taken = await files.take();
    await onSend(draft, undefined, taken).catch(() => files.giveBack(taken));
  };
  return (
    <form
      onSubmit={(event) => void send(event)}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        files.upload(event.dataTransfer.files);
      }}
    >
      {files.list.map(({ key, filename, progress }) => (
        <p key={key}>
          Attached: {filename} {progress !== undefined && <progress value={progress} />}
          <button type="button" onClick={() => files.remove(key)}>
            Remove
          </button>
        </p>
      ))}
      {files.error && <p role="alert">{files.error.message}</p>}
      <textarea
        aria-label="Your message"
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onPaste={(event) => files.upload(event.clipboardData.files)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          event.currentTarget.form?.requestSubmit();
        }}
        required
      />
      <input
        type="file"
        aria-label="Files"
        multiple
        onChange={(event) => {
          files.upload(event.target.files ?? []);
          event.target.value = "";
        }}
      />
      <button disabled={files.isStoring}>Send</button>
      <button type="button" hidden={!isSending} onClick={onStop}>
        Stop
      </button>
    </form>
  );
}
