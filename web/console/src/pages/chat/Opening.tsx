import { useState, type FormEvent, type KeyboardEvent } from "react";
import { Icon } from "../../shell/icons";

/** Where a conversation begins: what is written here is its first message. */
export function Opening({ onSay }: { onSay: (text: string) => void }) {
  const [text, setText] = useState("");
  function say(event?: FormEvent) {
    event?.preventDefault();
    if (text.trim() !== "") onSay(text.trim());
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    say();
  }
  return (
    <form className="composer opening" onSubmit={say}>
      <div className="composer-row">
        <label className="visually-hidden" htmlFor="opening">
          Your first message
        </label>
        <textarea
          id="opening"
          data-entry
          rows={1}
          value={text}
          placeholder="Ask anything"
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <button
          className="primary round"
          type="submit"
          aria-label="Start a conversation"
          title="Start a conversation"
          disabled={text.trim() === ""}
        >
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}
