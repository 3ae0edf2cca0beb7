import type { IFeedback, IMessage, IMessageVersion } from "@castalia/oracles-client";
import { useEffect, useRef, useState, type FormEvent, type KeyboardEvent } from "react";
import { CopyButton } from "../../shell/CopyButton";
import { Icon, type IconName } from "../../shell/icons";

/** What a reader can do with a message. The same object for as long as the conversation is. */
export interface MessageActs {
  regenerate: (messageId: string) => void;
  edit: (messageId: string, text: string) => void;
  choose: (messageId: string) => Promise<void>;
  rate: (messageId: string, rating: IFeedback["rating"] | null) => void;
}

function Tool(props: {
  icon: IconName;
  label: string;
  onClick: () => void;
  disabled?: boolean;
  pressed?: boolean;
}) {
  return (
    <button
      type="button"
      className="quiet"
      aria-label={props.label}
      title={props.label}
      disabled={props.disabled}
      aria-pressed={props.pressed}
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}

/** What can be done with an answer. While another one is written, it can be copied. */
export function AnswerTools(props: { message: IMessage; said: string; acts: MessageActs }) {
  const { acts, said } = props;
  const { id, feedback } = props.message;
  const rate = (rating: IFeedback["rating"]) =>
    acts.rate(id, feedback?.rating === rating ? null : rating);
  return (
    <div className="message-tools">
      <CopyButton text={said} label="Copy the answer" />
      <span className="when-idle">
        <Tool icon="restore" label="Ask again" onClick={() => acts.regenerate(id)} />
        <Tool
          icon="good"
          label="Good answer"
          pressed={feedback?.rating === "up"}
          onClick={() => rate("up")}
        />
        <Tool
          icon="bad"
          label="Bad answer"
          pressed={feedback?.rating === "down"}
          onClick={() => rate("down")}
        />
      </span>
    </div>
  );
}

/** What can be done with a question: asked otherwise, or seen as it was asked before. */
export function QuestionTools(props: {
  version: IMessageVersion | undefined;
  onEdit: () => void;
  acts: MessageActs;
}) {
  return (
    <div className="message-tools">
      <span className="when-idle">
        <Tool icon="pencil" label="Edit the question" onClick={props.onEdit} />
        {props.version && <Versions version={props.version} choose={props.acts.choose} />}
      </span>
    </div>
  );
}

function Versions(props: { version: IMessageVersion; choose: MessageActs["choose"] }) {
  const { number, count, messageIds } = props.version;
  const root = messageIds[0] ?? "";
  async function step(by: -1 | 1) {
    const id = messageIds[number - 1 + by];
    if (id === undefined) return;
    await props.choose(id);
    // What is shown now is another message, with a switch of its own.
    requestAnimationFrame(() => {
      const buttons = [...document.querySelectorAll<HTMLButtonElement>("[data-versions] button")];
      const mine = buttons.filter((b) => b.parentElement?.dataset["versions"] === root);
      const wanted = mine[by < 0 ? 0 : 1];
      (wanted?.disabled ? mine.find((b) => !b.disabled) : wanted)?.focus();
    });
  }
  return (
    <span
      role="group"
      className="turn-versions"
      aria-label={`Version ${number} of ${count}`}
      data-versions={root}
    >
      <Tool
        icon="back"
        label="Earlier version"
        disabled={number <= 1}
        onClick={() => void step(-1)}
      />
      <span aria-hidden="true">
        {number} / {count}
      </span>
      <Tool
        icon="next"
        label="Later version"
        disabled={number >= count}
        onClick={() => void step(1)}
      />
    </span>
  );
}

/** A question that is being written anew, where it stands. */
export function EditedQuestion(props: {
  text: string;
  onSend: (text: string) => void;
  onCancel: () => void;
}) {
  const [text, setText] = useState(props.text);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(props.text.length, props.text.length);
  }, [props.text]);
  function send(event?: FormEvent) {
    event?.preventDefault();
    if (text.trim() !== "") props.onSend(text.trim());
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape") props.onCancel();
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    send();
  }
  return (
    <form className="edit-question" onSubmit={send}>
      <textarea
        ref={field}
        aria-label="The question"
        rows={2}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="row">
        <button type="button" onClick={props.onCancel}>
          Cancel
        </button>
        <button type="submit" className="primary" disabled={text.trim() === ""}>
          Ask
        </button>
      </div>
    </form>
  );
}
